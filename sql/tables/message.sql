create table memlayer.message (
  tenant     text        collate "C" not null default 'default',
  session_id uuid        not null,
  seq        bigint      not null,
  role       text        not null,
  content    text        not null,
  name       text,
  created_at timestamptz not null default memlayer.now(),

  constraint message_time_in_range
    check (created_at between timestamptz '0001-01-02 00:00:00+00' and timestamptz '9999-12-30 00:00:00+00'),
  constraint message_pkey primary key (tenant, session_id, seq),
  constraint message_session_fkey foreign key (tenant, session_id) references memlayer.session (tenant, id) on delete cascade
);

comment on table memlayer.message is 'The ring buffer: the newest ten messages of each session, by sequence and never by time.';
comment on column memlayer.message.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.message.session_id is 'The session it was said in.';
comment on column memlayer.message.seq is 'Place in the session, from 1, without a gap when written.';
comment on column memlayer.message.role is 'Who spoke: user, assistant, system, tool, …';
comment on column memlayer.message.content is 'What was said.';
comment on column memlayer.message.name is 'The speaker''s name, where the message carried one.';
comment on column memlayer.message.created_at is 'When it was said, as far as the caller told; else when it was stored.';
