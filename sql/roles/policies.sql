-- Whoever reads or writes a table and does not own it has the rows of its tenants. "(select …)" has the
-- function asked once a statement, and leaves the comparison to an index.
do $$
declare
  v_table text;
begin
  for v_table in
    select format('%I.%I', n.nspname, c.relname)
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'memlayer'
       and c.relkind in ('r', 'p')
       and exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and a.attnum > 0)
       -- What is there already is left alone, for it takes a lock that nobody else can read beside.
       and not exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid and p.polname = 'tenants_of_the_login')
     order by 1
  loop
    execute format('alter table %s enable row level security', v_table);
    execute format(
      'create policy tenants_of_the_login on %s using (tenant = any ((select memlayer.login_tenants())::text[]))', v_table);
    execute format('comment on policy tenants_of_the_login on %s is ''The rows of the tenants that the login may use.''', v_table);
  end loop;
end;
$$;
