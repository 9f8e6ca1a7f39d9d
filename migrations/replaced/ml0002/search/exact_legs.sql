create or replace function memlayer.exact_legs(
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
with recursive scoped as materialized (
  -- Every visible memory of the scope: what statistics are of. The filter only marks what may be found.
  select m.id, m.created_at, m.observed_at, m.document_length,
         %2$s as kept,
         case when m.embedding_model = $7 and %2$s then greatest(1 - (m.embedding <=> $6), 0) end as cosine,
         case when m.document @@ $9 then m.document end as document,
         m.document @@ $10 as matches
    from memlayer.memory m
   where %1$s
),
corpus as materialized (
  select count(*)::float8 as memories, greatest(avg(s.document_length), 1)::float8 as average_length from scoped s
),
occurrence as materialized (
  select s.id, s.document_length, s.kept and s.matches as counts, t.lexeme, coalesce(cardinality(t.positions), 1) as frequency
    from scoped s
   cross join lateral unnest(s.document) t
   where s.document is not null
     and t.lexeme = any ($8)
),
term as materialized (
  select o.lexeme, ln(1 + (c.memories - count(*) + 0.5) / (count(*) + 0.5)) as idf
    from occurrence o
   cross join corpus c
   group by o.lexeme, c.memories
),
%3$s,
%4$s,
nearest as materialized (
  select s.id from scoped s where s.kept and s.cosine is not null order by s.cosine desc, s.id limit $11
),
wordiest as materialized (
  select k.id from keyword k order by k.bm25 desc, k.id limit $11
),
named as materialized (
  select e.id from entity e join scoped s using (id) where s.kept order by e.boost desc, e.id limit $11
),
found as materialized (
  select s.id, s.created_at, s.observed_at, s.cosine, k.bm25, e.boost
    from (select n.id from nearest n union select w.id from wordiest w union select d.id from named d) c
    join scoped s using (id)
    left join keyword k using (id)
    left join entity e using (id)
)$sql$, p_where, p_filter, memlayer.keyword_leg(p_k1), p_entities);

comment on function memlayer.exact_legs is
  'The three legs of a search that reads every memory of its scope: CTEs that end in found (id, created_at, observed_at, cosine, bm25, boost).';
