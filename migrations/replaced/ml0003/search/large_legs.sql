create or replace function memlayer.large_legs(
  p_where    text,
  p_filter   text,
  p_entities text,
  p_k1       float8
)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$
with recursive corpus as materialized (
  select s.memories::float8, s.average_length
    from memlayer.scope_statistic s
   where s.tenant = $1 and s.kind = $17 and s.scope_id = $18
),
term as materialized (
  select q.lexeme, coalesce(t.memories, 1) as memories,
         ln(1 + (c.memories - coalesce(t.memories, 1) + 0.5) / (coalesce(t.memories, 1) + 0.5)) as idf
    from unnest($8) q (lexeme)
   cross join corpus c
    left join memlayer.term_statistic t
      on t.tenant = $1 and t.kind = $17 and t.scope_id = $18 and t.lexeme = q.lexeme
),
matching as materialized (
  -- By the rarest terms ($9 holds those): the common ones would fetch most of the scope and rank little.
  select m.id, m.document, m.document_length, true as kept
    from memlayer.memory m
   where m.document @@ $9 and %1$s and %2$s
),
%5$s,
%3$s,
%4$s,
nearest as materialized (
  select n.id from unnest($19) n (id)
),
wordiest as materialized (
  select k.id from keyword k order by k.bm25 desc, k.id limit $11
),
named as materialized (
  -- In the order of the boost, so that the many memories of a common name are not all looked up.
  select e.id
    from (select e.id, e.boost from entity e order by e.boost desc, e.id offset 0) e
   cross join lateral (
     select from memlayer.memory m where m.tenant = $1 and m.id = e.id and %1$s and %2$s offset 0) m
   order by e.boost desc, e.id
   limit $11
),
found as materialized (
  select m.id, m.created_at, m.observed_at,
         case when m.embedding_model = $7 then greatest(1 - (m.embedding <=> $6), 0) end as cosine,
         k.bm25, e.boost
    from (select n.id from nearest n union select w.id from wordiest w union select d.id from named d) c
   cross join lateral (
     select m.* from memlayer.memory m where m.tenant = $1 and m.id = c.id offset 0) m
    left join keyword k on k.id = c.id
    left join entity e on e.id = c.id
)$sql$, p_where, p_filter, memlayer.keyword_leg(p_k1), p_entities, memlayer.occurrence_leg());

comment on function memlayer.large_legs is
  'The three legs of a search in a scope with stored statistics and a vector index, reading only what they find: CTEs that end in found, as memlayer.exact_legs.';
