create or replace function memlayer.refresh_statistics(p_tenant text default 'default')
  returns table (kind text, scope_id text, memories bigint, terms bigint)
  language plpgsql
  volatile
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
declare
  v_scope record;
  v_terms bigint;
begin
  -- Of two at once the second waits here, and then writes over what the first has written.
  delete from memlayer.scope_statistic s where s.tenant = p_tenant;
  for v_scope in
    select i.kind, i.id as scope_id, count(*) as memories, greatest(avg(m.document_length), 1) as average_length
      from memlayer.memory m
     cross join lateral (values ('user', m.user_id), ('agent', m.agent_id), ('run', m.run_id)) i (kind, id)
     where m.tenant = p_tenant
       and i.id is not null
       and (m.expires_on is null or m.expires_on >= memlayer.today())
     group by i.kind, i.id
    having count(*) > memlayer.exact_threshold(p_tenant)
     order by i.kind, i.id
  loop
    insert into memlayer.scope_statistic (tenant, kind, scope_id, memories, average_length)
    values (p_tenant, v_scope.kind, v_scope.scope_id, v_scope.memories, v_scope.average_length)
    on conflict on constraint scope_statistic_pkey do update
       set memories = excluded.memories, average_length = excluded.average_length, refreshed_at = excluded.refreshed_at;
    insert into memlayer.term_statistic (tenant, kind, scope_id, lexeme, memories)
    select p_tenant, v_scope.kind, v_scope.scope_id, t.word, t.ndoc
      from ts_stat(format(
             'select m.document from memlayer.memory m where m.tenant = %L and m.%I = %L and (m.expires_on is null or m.expires_on >= %L)',
             p_tenant, v_scope.kind || '_id', v_scope.scope_id, memlayer.today())) t
     where t.ndoc > 1
    on conflict on constraint term_statistic_pkey do update set memories = excluded.memories;
    get diagnostics v_terms = row_count;
    kind := v_scope.kind;
    scope_id := v_scope.scope_id;
    memories := v_scope.memories;
    terms := v_terms;
    return next;
  end loop;
end;
$$;

comment on function memlayer.refresh_statistics is
  'Counts anew what BM25 needs to know of each user, agent and run with more memories than are searched exactly. Between two refreshes equal searches give equal answers. One row a scope counted.';
