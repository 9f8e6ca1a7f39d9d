create or replace function memlayer.exact_legs(
  p_where    text,
  p_filter   text,
  p_entities text,
  p_k1       float8,
  p_is_past  boolean default false
)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$
with recursive %6$sscoped as materialized (
  -- Every visible memory of the scope: what statistics are of. The filter only marks what may be found.
  select m.id, m.created_at, m.observed_at, m.document_length, m.kept,
         case when m.kept and m.embedding_model = $7 then greatest(1 - (m.embedding <=> $6), 0) end as cosine,
         case when m.document @@ $9 then m.document end as document
    from (
      select m.id, m.created_at, m.observed_at, m.document_length, m.document, m.embedding, m.embedding_model,
             %2$s as kept
        from %7$s m
       where %1$s
      offset 0) m
),
corpus as materialized (
  select count(*)::float8 as memories, greatest(avg(s.document_length), 1)::float8 as average_length from scoped s
),
matching as materialized (
  select s.id, s.document, s.document_length, s.kept from scoped s where s.document is not null
),
%5$s,
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
candidate as materialized (
  -- "case": each memory of the scope is looked up among the few, where a join would hash the scope.
  select s.id, s.created_at, s.observed_at, s.cosine
    from scoped s
   where s.kept
     and case when s.id in (select n.id from nearest n union all select w.id from wordiest w union all select e.id from entity e)
              then true end
),
named as materialized (
  select e.id from entity e join candidate c using (id) order by e.boost desc, e.id limit $11
),
found as materialized (
  select c.id, c.created_at, c.observed_at, c.cosine, k.bm25, e.boost
    from candidate c
    left join keyword k using (id)
    left join entity e using (id)
   where c.id in (select n.id from nearest n union all select w.id from wordiest w union all select d.id from named d)
)$sql$, p_where, p_filter, memlayer.keyword_leg(p_k1), p_entities, memlayer.occurrence_leg(),
  case when p_is_past then memlayer.past_rows('$21') || E',\n' end,
  case when p_is_past then 'past' else 'memlayer.memory' end);

comment on function memlayer.exact_legs is
  'The three legs of a search that reads every memory of its scope: CTEs that end in found (id, created_at, observed_at, cosine, bm25, boost). p_is_past: of those that stood at the moment $21, which the CTE past holds.';
