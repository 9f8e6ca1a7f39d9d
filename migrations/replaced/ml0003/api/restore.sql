create or replace function memlayer.restore(
  p_tenant           text        default 'default',
  p_id               uuid        default null,
  p_version          int         default null,
  p_as_of            timestamptz default null,
  p_expected_version int         default null,
  p_actor            text        default null
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, pending boolean, context text, event text)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_change uuid := gen_random_uuid();
  v_last   memlayer.history;
  v_event  text;
begin
  perform memlayer.require_tenant(p_tenant);
  -- A deleted memory has no row to lock: its history says whose it was.
  select * into v_last from memlayer.history h where h.tenant = p_tenant and h.memory_id = p_id order by h.version limit 1;
  if not found then
    raise exception using
      errcode = 'ML002',
      message = format('there never was a memory %s', coalesce(p_id::text, 'null')),
      hint    = 'memlayer.changes lists what was written, memlayer.history of which memories.';
  end if;
  perform memlayer.lock_session(p_tenant, v_last.user_id, v_last.agent_id, v_last.run_id);
  perform from memlayer.memory m where m.tenant = p_tenant and m.id = p_id for update;
  select * into v_last from memlayer.history h where h.tenant = p_tenant and h.memory_id = p_id order by h.version desc limit 1;
  perform memlayer.require_version(p_id, v_last.version, p_expected_version);

  perform set_config('memlayer.change_id', v_change::text, true);
  select p.event into v_event
    from memlayer.put_back(p_tenant, array[p_id], array[memlayer.version_to_restore(p_tenant, p_id, p_version, p_as_of)], false) p;
  if v_event is not null then
    insert into memlayer.change (tenant, id, operation, user_id, agent_id, run_id, actor, added, updated)
    values (p_tenant, v_change, 'restore', v_last.user_id, v_last.agent_id, v_last.run_id, p_actor,
            (v_event = 'ADD')::int, (v_event = 'UPDATE')::int);
  end if;
  perform set_config('memlayer.change_id', '', true);

  return query select g.*, v_event from memlayer.get(p_tenant, p_id) g;
end;
$$;

comment on function memlayer.restore is
  'Makes a memory what it was at a version or at a moment, with its mentions; one that was deleted stands again under its own id. Returns it as memlayer.get does, with the event this was in its history: UPDATE, ADD, or null where nothing had to change. pending: its vector was of a model no longer in use. ML002 when there was no such memory or version, ML003 for both or neither, ML006 when it is not at p_expected_version, ML009 when history does not reach back that far.';
