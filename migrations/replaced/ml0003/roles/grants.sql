-- What the three roles may do. Roles belong to the cluster, so no revision makes them: memlayer db roles
-- does, and where they are missing this takes away what everybody has, and grants nothing.
do $$
declare
  -- Functions that programs call.
  c_app constant text[] := array[
    'add', 'recall_context', 'search', 'keyword_search', 'similar_to', 'get', 'get_all', 'pending', 'update', 'delete',
    'delete_all', 'restore', 'undo', 'changes', 'changes_since', 'as_of', 'history', 'messages', 'scopes', 'import_memories', 'import_links', 'export_memories', 'handshake',
    'login_tenants'];
  -- Functions that only read. The rest is what tables and row-level security call: they read nothing.
  c_reader constant text[] := array[
    'search', 'keyword_search', 'similar_to', 'get', 'get_all', 'pending', 'history', 'messages', 'scopes', 'export_memories',
    'changes', 'changes_since', 'as_of', 'handshake', 'login_tenants', 'changed_keys', 'now', 'test_time', 'today', 'fold',
    'lower_case', 'scope_digest'];
  -- Functions for operators, who also have those above.
  c_admin constant text[] := array[
    'reset', 'erase', 'prune_history', 'verify', 'explain_search', 'recall_check', 'refresh_statistics', 'create_ann_index', 'set_language',
    'rebuild_documents', 'bind_tenant', 'unbind_tenant', 'start_incarnation', 'exact_threshold'];
  -- A role's other grants stay: an operator may have given it more.
  c_granted constant jsonb := jsonb_build_object(
    'memlayer_app', c_app, 'memlayer_reader', c_reader, 'memlayer_admin', c_app || c_reader || c_admin);
  v_function record;
  v_role     text;
  v_vector   regnamespace := (select e.extnamespace from pg_catalog.pg_extension e where e.extname = 'vector');
begin
  for v_function in
    select p.oid::regprocedure as signature, p.proname as name, p.proacl is null or p.proacl::text ~ '[{,]=X' as is_public
      from pg_catalog.pg_proc p
     where p.pronamespace = 'memlayer'::regnamespace
       and not exists (select from pg_catalog.pg_depend d
                        where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
     order by 1
  loop
    if v_function.is_public then
      execute format('revoke execute on function %s from public', v_function.signature);
    end if;
    for v_role in select g.key from jsonb_each(c_granted) g where to_regrole(g.key) is not null loop
      if c_granted -> v_role ? v_function.name then
        execute format('grant execute on function %s to %I', v_function.signature, v_role);
      end if;
    end loop;
  end loop;

  foreach v_role in array array['memlayer_app', 'memlayer_reader', 'memlayer_admin'] loop
    continue when to_regrole(v_role) is null;
    execute format('grant usage on schema memlayer to %I', v_role);
    -- Only where it is not open to them already, and we may open it.
    if not has_schema_privilege(v_role, v_vector, 'usage')
       and has_schema_privilege(v_vector, 'usage with grant option')
    then
      execute format('grant usage on schema %s to %I', v_vector, v_role);
    end if;
    if v_role <> 'memlayer_app' then
      execute format('grant select on all tables in schema memlayer to %I', v_role);
    end if;
  end loop;
  -- Which logins there are is nobody's business but an administrator's.
  if to_regrole('memlayer_reader') is not null then
    revoke select on memlayer.tenant_role from memlayer_reader;
  end if;
end;
$$;

-- An administrator reads the rows of all tenants.
do $$
declare
  v_table text;
begin
  if to_regrole('memlayer_admin') is null then
    return;
  end if;
  for v_table in
    select format('memlayer.%I', c.relname)
      from pg_catalog.pg_policy p
      join pg_catalog.pg_class c on c.oid = p.polrelid
     where c.relnamespace = 'memlayer'::regnamespace
       and p.polname = 'tenants_of_the_login'
       and not exists (select from pg_catalog.pg_policy a where a.polrelid = c.oid and a.polname = 'all_tenants')
     order by 1
  loop
    execute format('create policy all_tenants on %s for select to memlayer_admin using (true)', v_table);
    execute format('comment on policy all_tenants on %s is ''An administrator reads all rows.''', v_table);
  end loop;
end;
$$;
