create or replace view memlayer.messages
  with (security_invoker = true)
as
select m.tenant, m.session_id, m.seq,
       s.user_id, s.agent_id, s.run_id,
       m.role, m.name, m.content, m.created_at
  from memlayer.message m
  join memlayer.session s on s.tenant = m.tenant and s.id = m.session_id;

comment on view memlayer.messages is 'One row a buffered message: the newest ten of each combination of user, agent and run.';
comment on column memlayer.messages.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.messages.session_id is 'The exact combination of user, agent and run it was said in.';
comment on column memlayer.messages.seq is 'Place in the session, from 1.';
comment on column memlayer.messages.user_id is 'User of the session.';
comment on column memlayer.messages.agent_id is 'Agent of the session.';
comment on column memlayer.messages.run_id is 'Run of the session.';
comment on column memlayer.messages.role is 'Who spoke: user, assistant, system, tool, …';
comment on column memlayer.messages.name is 'The speaker''s name, where the message carried one.';
comment on column memlayer.messages.content is 'What was said.';
comment on column memlayer.messages.created_at is 'When it was said, as far as the application told; else when it was stored.';
