create table memlayer.deployment (
  revision   text        primary key,
  breaking   boolean     not null default false,
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text        not null default session_user
);

comment on table memlayer.deployment is 'One row an applied revision: how a client tells whether this schema is the one it was written for.';
comment on column memlayer.deployment.revision is 'Revision id, ml0001 and up; ids sort.';
comment on column memlayer.deployment.breaking is 'Whether clients written for an older revision must refuse to work on this one.';
comment on column memlayer.deployment.applied_at is 'When the revision was applied.';
comment on column memlayer.deployment.applied_by is 'The database role that applied it.';
