create or replace function memlayer.require_add(
  p_facts           jsonb,
  p_entities        jsonb,
  p_messages        jsonb,
  p_idempotency_key text,
  p_request_hash    text
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  v_name  text;
  v_value jsonb;
begin
  for v_name, v_value in values ('p_facts', p_facts), ('p_entities', p_entities), ('p_messages', p_messages) loop
    if jsonb_typeof(v_value) is distinct from 'array'
       or exists (select from jsonb_array_elements(v_value) e where jsonb_typeof(e) <> 'object')
    then
      raise exception using
        errcode = 'ML005',
        message = format('%s is not an array of objects', v_name),
        hint    = 'See the comment of memlayer.add for their shape.';
    end if;
  end loop;
  if exists (select from jsonb_array_elements(p_entities) e
              where coalesce(memlayer.fold(e ->> 'name'), '') = '' or octet_length(e ->> 'name') > 400)
  then
    raise exception using
      errcode = 'ML005',
      message = 'an entity has no name, or one of more than 400 bytes',
      hint    = 'Leave it out.';
  end if;
  if exists (select from jsonb_array_elements(p_messages) m where m ->> 'role' is null or m ->> 'content' is null) then
    raise exception using
      errcode = 'ML005',
      message = 'a message has no role or no content',
      hint    = 'Leave it out.';
  end if;
  if exists (select from jsonb_array_elements(p_messages) m where octet_length(m ->> 'content') > 10485760) then
    raise exception using
      errcode = 'ML005',
      message = 'a message is longer than 10 MB',
      hint    = 'A message may have up to 10,485,760 bytes.';
  end if;
  if octet_length(p_idempotency_key) not between 1 and 255 then
    raise exception using
      errcode = 'ML005',
      message = format('the idempotency key is %s bytes long', octet_length(p_idempotency_key)),
      hint    = 'It may have 1 to 255 bytes.';
  end if;
  if (p_idempotency_key is null) <> (p_request_hash is null) then
    raise exception using
      errcode = 'ML008',
      message = 'an idempotency key and the hash of the request go together',
      hint    = 'Pass both p_idempotency_key and p_request_hash, or neither.';
  end if;
end;
$$;

comment on function memlayer.require_add is 'Refuses input of memlayer.add that has not the shape it needs (ML005, ML008).';
