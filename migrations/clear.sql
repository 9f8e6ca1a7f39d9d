-- Drops every object in schema memlayer but alembic's version table: the baseline's way down.
-- What stands outside the schema is never dropped along: it is named, and nothing happens.
-- Neither is the extension vector, should somebody have made it in this schema.
do $$
declare
  v_schema    constant oid := 'memlayer'::regnamespace;
  v_outside   text;
  v_ours      oid[];
  v_drops     text[];
  v_statement text;
begin
  select array_agg(o.id)
    into v_ours
    from (select oid, 'pg_class'::regclass from pg_class where relnamespace = v_schema and relname <> 'alembic_version'
          union all
          select oid, 'pg_proc'::regclass from pg_proc where pronamespace = v_schema
          union all
          select oid, 'pg_type'::regclass from pg_type where typnamespace = v_schema) o (id, class)
   where not exists (select from pg_depend d where (d.classid, d.objid) = (o.class, o.id) and d.deptype = 'e');

  select string_agg(distinct o.identity, ', ')
    into v_outside
    from pg_depend d
    left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    left join pg_constraint k on d.classid = 'pg_constraint'::regclass and k.oid = d.objid
    left join pg_trigger t on d.classid = 'pg_trigger'::regclass and t.oid = d.objid
    left join pg_attrdef a on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
    left join pg_policy p on d.classid = 'pg_policy'::regclass and p.oid = d.objid
    left join pg_class c on c.oid = coalesce(r.ev_class, k.conrelid, t.tgrelid, a.adrelid, p.polrelid)
   cross join pg_identify_object(d.classid, d.objid, 0) o
   where d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass)
     and d.refobjid = any (v_ours)
     and d.deptype in ('n', 'a')
     and coalesce(c.relnamespace <> v_schema, o.schema <> 'memlayer');

  if v_outside is not null then
    raise exception using
      errcode = '2BP01',
      message = format('these depend on schema memlayer: %s', v_outside),
      hint    = 'Drop them first.';
  end if;

  -- Written down before the first one goes: each takes others along.
  select array_agg(s.statement)
    into v_drops
    from (select format('drop %s if exists memlayer.%I cascade',
                        case relkind when 'v' then 'view'
                                     when 'm' then 'materialized view'
                                     when 'S' then 'sequence'
                                     else 'table' end,
                        relname)
            from pg_class
           where oid = any (v_ours) and relnamespace = v_schema and relkind in ('r', 'p', 'v', 'm', 'S')
             -- A sequence that belongs to a column goes with it.
             and not exists (select
                               from pg_depend d
                              where relkind = 'S'
                                and (d.classid, d.objid) = ('pg_class'::regclass, pg_class.oid)
                                and d.deptype in ('a', 'i'))
          union all
          select format('drop routine if exists %s cascade', oid::regprocedure)
            from pg_proc
           where oid = any (v_ours) and pronamespace = v_schema
          union all
          select format('drop type if exists memlayer.%I cascade', typname)
            from pg_type
           where oid = any (v_ours) and typnamespace = v_schema and typtype in ('d', 'e') ) s (statement);

  foreach v_statement in array coalesce(v_drops, '{}') loop
    execute v_statement;
  end loop;
end;
$$;

comment on schema memlayer is null;
