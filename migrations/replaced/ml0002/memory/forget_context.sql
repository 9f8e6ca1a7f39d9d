create or replace function memlayer.forget_context()
  returns trigger
  language plpgsql
  set search_path from current
as $$
begin
  -- The words of a message that is gone or corrected must not be found by what was said after it.
  update memlayer.memory m
     set context = null
   where m.tenant = old.tenant
     and m.context is not null
     -- Its last 2,000 characters, without blanks around them.
     and md5(m.context) = md5(ltrim(right(rtrim(old.text, E' \t\n\r\f'), 2000), E' \t\n\r\f'))
     and (m.user_id, m.agent_id, m.run_id) is not distinct from (old.user_id, old.agent_id, old.run_id);
  return null;
end;
$$;

comment on function memlayer.forget_context is
  'After a message stored word for word is deleted or gets another text: takes it out of the context of those that follow it.';

create or replace trigger memory_context_forgotten
  after delete on memlayer.memory
  for each row when (old.role is not null) execute function memlayer.forget_context();

create or replace trigger memory_context_corrected
  after update on memlayer.memory
  for each row when (old.role is not null and old.text is distinct from new.text) execute function memlayer.forget_context();

comment on trigger memory_context_forgotten on memlayer.memory is 'Forgets a deleted message as context.';
comment on trigger memory_context_corrected on memlayer.memory is 'Forgets a corrected message as context.';
