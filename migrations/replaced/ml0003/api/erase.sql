create or replace function memlayer.erase(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null,
  p_actor    text default null
)
  returns table (
    id uuid, scope_digest text, memories bigint, history bigint, messages bigint, sessions bigint, entities bigint,
    mentions bigint, links bigint, changes bigint, actor text, database_role text, application_name text,
    recorded_at timestamptz)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
declare
  v_receipt  uuid := gen_random_uuid();
  v_scope    text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id);
  -- As its index has them.
  v_session  text := regexp_replace(v_scope, '(m\.\w+_id) ', 'coalesce(\1, '''') ', 'g');
  v_sessions uuid[];
  v_ids      uuid[];
  v_number   bigint;
  v_counts   bigint[] := array_fill(0::bigint, array[8]);
  v_left     text;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  insert into memlayer.receipt (tenant, id, scope_digest, actor)
  values (p_tenant, v_receipt, memlayer.scope_digest(p_user_id, p_agent_id, p_run_id),
          case when p_actor in (p_user_id, p_agent_id, p_run_id) then null else p_actor end);
  -- By these the trigger knows that no history is to be written.
  perform set_config('memlayer.change_id', v_receipt::text, true), set_config('memlayer.recorded', 'ERASE', true);

  -- Again, where somebody made a new session of the scope meanwhile, which could not be locked.
  for v_pass in 1..10 loop
    -- First the sessions, in one order, as every writer does.
    execute format('select array(select m.id from memlayer.session m where %s order by m.id for update)', v_session)
      into v_sessions using p_tenant, p_user_id, p_agent_id, p_run_id;
    execute format('select from memlayer.memory m where %s order by m.id for update', v_scope)
      using p_tenant, p_user_id, p_agent_id, p_run_id;
    -- Deleted memories left their history.
    execute format(
      'select array(select m.id from memlayer.memory m where %1$s union select m.memory_id from memlayer.history m where %1$s)', v_scope)
      into v_ids using p_tenant, p_user_id, p_agent_id, p_run_id;

    -- Frequencies of words, in whatever counted these memories.
    execute format(
      $sql$
      delete from memlayer.scope_statistic s
       where s.tenant = $1
         and (s.kind, s.scope_id) in (
           select i.kind, i.id
             from (select m.user_id, m.agent_id, m.run_id from memlayer.memory m where %1$s
                   union
                   select m.user_id, m.agent_id, m.run_id from memlayer.history m where %1$s
                   union
                   select $2, $3, $4) m
            cross join lateral (values ('user', m.user_id), ('agent', m.agent_id), ('run', m.run_id)) i (kind, id))
      $sql$, v_scope)
      using p_tenant, p_user_id, p_agent_id, p_run_id;

    execute format(
      'select count(*) from memlayer.mention n join memlayer.memory m on m.tenant = n.tenant and m.id = n.memory_id where %s', v_scope)
      into v_number using p_tenant, p_user_id, p_agent_id, p_run_id;
    v_counts[6] := v_counts[6] + v_number;

    execute format('delete from memlayer.memory m where %s', v_scope) using p_tenant, p_user_id, p_agent_id, p_run_id;
    get diagnostics v_number = row_count;
    v_counts[1] := v_counts[1] + v_number;
    execute format('delete from memlayer.history m where %s', v_scope) using p_tenant, p_user_id, p_agent_id, p_run_id;
    get diagnostics v_number = row_count;
    v_counts[2] := v_counts[2] + v_number;
    -- An id may have been used again elsewhere: that history now begins later.
    update memlayer.history h
       set event = 'BASELINE', old_state = null, old_embedding = null, old_embedding_model = null, old_mentions = null, old_links = null
     where h.tenant = p_tenant and h.memory_id = any (v_ids) and h.version > 1 and h.new_state is not null
       and not exists (
         select from memlayer.history o where o.tenant = p_tenant and o.memory_id = h.memory_id and o.version < h.version);
    delete from memlayer.former_link l
     where l.tenant = p_tenant and (l.memory_id = any (v_ids) or l.linked_id = any (v_ids));
    get diagnostics v_number = row_count;
    v_counts[7] := v_counts[7] + v_number;

    execute format('delete from memlayer.entity m where %s', v_scope) using p_tenant, p_user_id, p_agent_id, p_run_id;
    get diagnostics v_number = row_count;
    v_counts[5] := v_counts[5] + v_number;
    delete from memlayer.message b where b.tenant = p_tenant and b.session_id = any (v_sessions);
    get diagnostics v_number = row_count;
    v_counts[3] := v_counts[3] + v_number;
    delete from memlayer.session s where s.tenant = p_tenant and s.id = any (v_sessions);
    get diagnostics v_number = row_count;
    v_counts[4] := v_counts[4] + v_number;

    execute format(
      $sql$
      update memlayer.change m
         set user_id = null, agent_id = null, run_id = null, idempotency_key = null, request_hash = null, result = null,
             actor = case when m.actor in (m.user_id, m.agent_id, m.run_id) then null else m.actor end
       where %s
      $sql$, v_scope)
      using p_tenant, p_user_id, p_agent_id, p_run_id;
    get diagnostics v_number = row_count;
    v_counts[8] := v_counts[8] + v_number;

    -- Looked for anew, by a statement that sees what others committed meanwhile.
    select string_agg(format('select %L from memlayer.%I m where %s', t.name, t.name, v_scope), ' union ')
      into v_left
      from unnest(array['memory', 'history', 'entity', 'session', 'change']) t (name);
    execute format('select string_agg(f.name, '', '' order by f.name) from (%s) f (name)', v_left)
      into v_left using p_tenant, p_user_id, p_agent_id, p_run_id;
    exit when v_left is null;
  end loop;
  if v_left is not null then
    raise exception using
      errcode = '55000',
      message = format('nothing was erased: others keep writing to the scope (%s)', v_left),
      hint    = 'Keep the application from writing to it, and call again.';
  end if;

  update memlayer.receipt r
     set memories = v_counts[1], history = v_counts[2], messages = v_counts[3], sessions = v_counts[4],
         entities = v_counts[5], mentions = v_counts[6], links = v_counts[7], changes = v_counts[8]
   where r.tenant = p_tenant and r.id = v_receipt;
  perform set_config('memlayer.change_id', '', true), set_config('memlayer.recorded', '', true);

  return query
    select r.id, r.scope_digest, r.memories, r.history, r.messages, r.sessions, r.entities, r.mentions, r.links, r.changes,
           r.actor, r.database_role, r.application_name, r.recorded_at
      from memlayer.receipt r
     where r.tenant = p_tenant and r.id = v_receipt;
end;
$$;

comment on function memlayer.erase is
  'Erases whatever carries at least the given ids, for good: memories, their history, messages, sessions, entities, mentions, references, word statistics, and the ids, keys and results in the records of calls. In one transaction, which fails when anything is left. Returns the receipt that stays.';
