create or replace function memlayer.require_scope(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  v_name  text;
  v_value text;
begin
  if num_nonnulls(p_user_id, p_agent_id, p_run_id) = 0 then
    raise exception using
      errcode = 'ML001',
      message = 'no scope was given',
      hint    = 'Pass at least one of user_id, agent_id and run_id.';
  end if;
  for v_name, v_value in
    values ('tenant', coalesce(p_tenant, '')), ('user_id', p_user_id), ('agent_id', p_agent_id), ('run_id', p_run_id)
  loop
    if v_value ~ '^[\s\u200B-\u200F\u2060\uFEFF]*$' or v_value ~ '[\s\u0001-\u001F\u007F]' or v_value = '*' then
      raise exception using
        errcode = 'ML003',
        message = format('%s %L is not an id', v_name, v_value),
        hint    = 'An id is not empty, holds no white space or control characters, and * does not mean "any" here.';
    end if;
    if octet_length(v_value) > 255 then
      raise exception using
        errcode = 'ML005',
        message = format('%s is %s bytes long', v_name, octet_length(v_value)),
        hint    = 'Ids may have up to 255 bytes.';
    end if;
  end loop;
end;
$$;

comment on function memlayer.require_scope is
  'Refuses a call that names nobody (ML001) or by something that is not an id (ML003, ML005).';
