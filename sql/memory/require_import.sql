create or replace function memlayer.require_import(
  p_memories jsonb,
  p_entities jsonb
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
  for v_name, v_value in values ('p_memories', p_memories), ('p_entities', p_entities) loop
    if jsonb_typeof(v_value) is distinct from 'array'
       or exists (select from jsonb_array_elements(v_value) e where jsonb_typeof(e) <> 'object')
    then
      raise exception using
        errcode = 'ML005',
        message = format('%s is not an array of objects', v_name),
        hint    = 'See the comment of memlayer.import_memories for their shape.';
    end if;
  end loop;
  if exists (select from jsonb_array_elements(p_memories) m where m ->> 'id' is null)
     or (select count(*) <> count(distinct m ->> 'id') from jsonb_array_elements(p_memories) m)
  then
    raise exception using
      errcode = 'ML005',
      message = 'a memory has no id, or the id of another',
      hint    = 'Give each an id of its own: gen_random_uuid() makes one.';
  end if;
  if exists (select from jsonb_array_elements(p_entities) e
              where coalesce(octet_length(btrim(e ->> 'name')), 0) not between 1 and 400) then
    raise exception using
      errcode = 'ML005',
      message = 'an entity has no name, or one of more than 400 bytes',
      hint    = 'Leave it out.';
  end if;
end;
$$;

comment on function memlayer.require_import is 'Refuses input of memlayer.import_memories that has not the shape it needs (ML005).';
