create or replace function memlayer.rarest_terms(
  p_tenant   text,
  p_kind     text,
  p_scope_id text,
  p_terms    text[]
)
  returns text[]
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return (
    with term as (
      select q.lexeme, coalesce(t.memories, 1) as memories
        from unnest(p_terms) q (lexeme)
        left join memlayer.term_statistic t
          on t.tenant = p_tenant and t.kind = p_kind and t.scope_id = p_scope_id and t.lexeme = q.lexeme
    ),
    running as (
      select t.lexeme, sum(t.memories) over w as fetched, row_number() over w as place
        from term t
      window w as (order by t.memories, t.lexeme)
    )
    select array_agg(r.lexeme) from running r where r.fetched <= 1000 or r.place = 1
  );
end;
$$;

comment on function memlayer.rarest_terms is
  'Those terms of a query, the rarest first, that together fetch up to a thousand memories of the scope; at least one.';
