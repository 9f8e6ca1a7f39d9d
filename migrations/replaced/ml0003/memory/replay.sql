create or replace function memlayer.replay(
  p_tenant          text,
  p_idempotency_key text,
  p_request_hash    text
)
  returns jsonb
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_change memlayer.change;
begin
  select * into v_change from memlayer.change where tenant = p_tenant and idempotency_key = p_idempotency_key;
  if found and v_change.request_hash <> p_request_hash then
    raise exception using
      errcode = 'ML008',
      message = 'the idempotency key was used with other input',
      hint    = 'Use a new key for a new request.';
  end if;
  return v_change.result;
end;
$$;

comment on function memlayer.replay is
  'What the call with this idempotency key returned; null when there was none; ML008 when its input was another.';
