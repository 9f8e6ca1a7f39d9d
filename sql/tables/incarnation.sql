create table memlayer.incarnation (
  number            int         not null,
  server_started    timestamptz not null default pg_postmaster_start_time(),
  id                uuid        not null default gen_random_uuid(),
  system_identifier bigint      not null,
  first_seen_at     timestamptz not null default memlayer.now(),

  constraint incarnation_pkey primary key (number, server_started, id),
  constraint incarnation_number_in_range check (number between 1 and 3000)
);

comment on table memlayer.incarnation is
  'One row (or, where several wrote at once, a few) a run of the server that wrote. Transaction numbers start anew in another cluster: each cluster the store was restored into is an incarnation, and changes of an older one count as committed.';
comment on column memlayer.incarnation.number is 'Counts the clusters in which the store has lived, from 1.';
comment on column memlayer.incarnation.server_started is 'When the server that wrote was started: while that is the same, so is the cluster.';
comment on column memlayer.incarnation.id is 'Tells rows apart that were written at once, so that no writer waits for another.';
comment on column memlayer.incarnation.system_identifier is 'The cluster, as initdb named it; a physical copy has the same.';
comment on column memlayer.incarnation.first_seen_at is 'When the first write of that run was made.';
