create or replace function memlayer.get_all(
  p_tenant         text    default 'default',
  p_user_id        text    default null,
  p_agent_id       text    default null,
  p_run_id         text    default null,
  p_filters        jsonb   default null,
  p_top_k          int     default 20,
  p_show_expired   boolean default false,
  p_after          text    default null,
  p_reference_date date    default null,
  p_with_total     boolean default false
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, cursor text, has_more boolean, total bigint, superseded_by uuid)
  language plpgsql
  stable
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
declare
  v_after record;
  v_scope text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id)
                  || ' and ' || memlayer.visible_predicate(p_show_expired, p_reference_date);
  v_rows  text;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);
  select * into v_after from memlayer.cursor_position(p_after);

  v_rows := v_scope || ' and (' || memlayer.filter_predicate(p_filters) || ')';

  return query execute format(
    $sql$
    with page as (
      select m.id, m.text, m.hash, m.metadata, m.created_at, m.updated_at,
             m.user_id, m.agent_id, m.run_id, m.actor_id, m.role, m.attributed_to, m.memory_type,
             m.expires_on, m.observed_at, m.version
        from memlayer.memory m
       where %1$s %2$s
       order by m.created_at desc, m.id
       limit least($8::bigint + 1, 2147483647)
    ),
    numbered as (
      select p.*, row_number() over (order by p.created_at desc, p.id) as place, count(*) over () > $8 as has_more
        from page p
    ),
    counted as (%3$s)
    select n.id, n.text, n.hash, n.metadata, n.created_at, n.updated_at,
           n.user_id, n.agent_id, n.run_id, n.actor_id, n.role, n.attributed_to, n.memory_type,
           n.expires_on, n.observed_at, n.version,
           memlayer.cursor_after(n.created_at, n.id), coalesce(n.has_more, false), c.total, s.id
      from counted c
      %4$s join numbered n on n.place <= $8
      left join lateral (
        -- The newest of the scope that updates or contradicts it, as in memlayer.search.
        select m.id
          from memlayer.link l
          join memlayer.memory m on m.tenant = l.tenant and m.id = l.memory_id
         where l.tenant = $1 and l.linked_id = n.id and l.kind <> 'related'
           and %5$s
         order by m.created_at desc, m.id
         limit 1) s on true
     order by n.place
    $sql$,
    v_rows,
    case when p_after is not null then 'and m.created_at <= $6 and (m.created_at < $6 or m.id > $7)' end,
    case when p_with_total
      then format('select count(*) as total from memlayer.memory m where %s', v_rows)
      else 'select null::bigint as total' end,
    case when p_with_total then 'left' else 'inner' end,
    v_scope)
    using p_tenant, p_user_id, p_agent_id, p_run_id, coalesce(p_reference_date, memlayer.today()),
          v_after.created_at, v_after.id, p_top_k;
end;
$$;

comment on function memlayer.get_all is
  'The memories of a scope, newest first, then by id. p_after takes the cursor of the last row of the page before. With p_with_total each row carries how many there are in all; an empty page is then one row whose id is null. superseded_by: the newer memory that updates or contradicts it.';
