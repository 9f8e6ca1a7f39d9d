create or replace function memlayer.search_statement(
  p_user_id        text,
  p_agent_id       text,
  p_run_id         text,
  p_filters        jsonb,
  p_show_expired   boolean,
  p_reference_date date,
  p_by_entity      boolean,
  p_fusion         text
)
  returns text
  language sql
  stable
  set search_path from current
as $outer$
  select format($sql$
with scoped as materialized (
  -- Every visible memory of the scope: what statistics are of. The filter only marks what may be found.
  select m.id, m.created_at, m.document_length,
         %3$s as kept,
         case when m.embedding_model = $7 then greatest(1 - (m.embedding <=> $6), 0) end as semantic,
         case when m.document @@ $9 then m.document end as document,
         m.document @@ $10 as matches
    from memlayer.memory m
   where %1$s and %2$s
),
corpus as (
  select count(*)::float8 as memories, greatest(avg(s.document_length), 1)::float8 as average_length from scoped s
),
occurrence as (
  select s.id, s.document_length, s.kept and s.matches as counts, t.lexeme, coalesce(cardinality(t.positions), 1) as frequency
    from scoped s
   cross join lateral unnest(s.document) t
   where s.document is not null
     and t.lexeme = any ($8)
),
term as (
  select o.lexeme, ln(1 + (c.memories - count(*) + 0.5) / (count(*) + 0.5)) as idf
    from occurrence o
   cross join corpus c
   group by o.lexeme, c.memories
),
best as (
  -- What a memory of average length gets that has every term once; a term nobody has counts as the rarest.
  select coalesce(sum(t.idf), 0) + (cardinality($8) - count(t.*)) * ln(1 + (max(c.memories) + 0.5) / 0.5) as bm25
    from corpus c
    left join term t on true
),
keyword as (
  -- BM25 with b = 0.75
  select o.id,
         sum(t.idf * o.frequency * (1 + %5$s) / (o.frequency + %5$s * (0.25 + 0.75 * o.document_length / c.average_length))) as bm25
    from occurrence o
    join term t using (lexeme)
   cross join corpus c
   where o.counts
   group by o.id
),
%4$s,
nearest as (
  select s.id from scoped s where s.kept and s.semantic is not null order by s.semantic desc, s.id limit $11
),
wordiest as (
  select k.id from keyword k order by k.bm25 desc, k.id limit $11
),
named as (
  select e.id from entity e join scoped s using (id) where s.kept order by e.boost desc, e.id limit $11
),
candidate as (
  select s.id, s.created_at, s.semantic as cosine, %6$s as semantic, %7$s as keyword, %8$s * e.boost as boost
    from (select n.id from nearest n union select w.id from wordiest w union select d.id from named d) c
    join scoped s using (id)
    left join keyword k using (id)
    left join entity e using (id)
   cross join best b
),
scale as (
  select case when $6 is null then 0 else 1.0 end
       + case when exists (select from keyword k where k.bm25 > 0) then 1.0 else 0 end
       + case when exists (select from entity e where e.boost > 0) then %8$s * 0.5 else 0 end as max_possible
),
ranked as (
  -- The gate is on the raw cosine: words and names rank, they do not rescue. A pending memory has no cosine and passes by words.
  select c.*, coalesce(c.semantic, 0) + coalesce(c.keyword, 0) + coalesce(c.boost, 0) as raw, s.max_possible,
         least((coalesce(c.semantic, 0) + coalesce(c.keyword, 0) + coalesce(c.boost, 0)) / nullif(s.max_possible, 0), 1) as score
    from candidate c
   cross join scale s
   where $6 is null or c.cosine >= $12 - 1e-6 or (c.cosine is null and c.keyword > 0)
   order by score desc, c.created_at desc, c.id
   limit $13
)
select m.id, m.text, m.hash, m.metadata, r.score, m.created_at, m.updated_at,
       m.user_id, m.agent_id, m.run_id, m.actor_id, m.role, m.attributed_to, m.memory_type,
       m.expires_on, m.observed_at, m.version,
       jsonb_build_object(
         'semantic_score', r.semantic, 'bm25_score', coalesce(r.keyword, 0), 'entity_boost', coalesce(r.boost, 0),
         'raw_score', r.raw, 'max_possible_score', r.max_possible, 'final_score', r.score, 'threshold', $12, 'cosine_similarity', r.cosine)
  from ranked r
  join memlayer.memory m on m.tenant = $1 and m.id = r.id
 order by r.score desc, r.created_at desc, r.id
$sql$,
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id),
    memlayer.visible_predicate(p_show_expired, p_reference_date),
    '(' || memlayer.filter_predicate(p_filters) || ')',
    case when p_by_entity then format($sql$
likeness as materialized (
  -- Names of the scope that stand in the query ($14, folded) are known by sight; the others by their vectors ($15).
  select e.id, e.folded_name, 1.0 as similarity
    from memlayer.entity e
   where %1$s and memlayer.stands_in($14, e.folded_name)
  union all
  select n.id, n.folded_name, n.similarity
    from unnest($15) q
   cross join lateral (
     select e.id, e.folded_name, %2$s as similarity
       from memlayer.entity e
      where %1$s and e.embedding_model = $7
      order by e.embedding <=> q, e.id
      limit 500) n
   where n.similarity >= 0.5
),
mentioned as materialized (
  -- "offset 0": entity by entity through the index, however many of them the planner expects.
  select l.folded_name, l.similarity, n.memory_id
    from likeness l
   cross join lateral (
     select n.memory_id from memlayer.mention n where n.tenant = $1 and n.entity_id = l.id offset 0) n
),
spread as (
  -- One name may stand in several exact scopes below the searched one.
  select m.folded_name, count(distinct m.memory_id) as memories from mentioned m group by m.folded_name
),
entity as (
  select m.memory_id as id, max(memlayer.entity_boost(m.similarity, p.memories)) as boost
    from mentioned m
    join spread p using (folded_name)
   group by m.memory_id
)$sql$, memlayer.scope_predicate('e', p_user_id, p_agent_id, p_run_id),
      case p_fusion when 'additive' then '1 - (e.embedding <=> q)' else '(1 - (e.embedding <=> q) - $16) / (1 - $16)' end)
    else 'entity as (select null::uuid as id, null::float8 as boost where false)' end,
    case p_fusion when 'additive' then 1.2 else 0.3 end,
    case p_fusion when 'additive' then 's.semantic' else 'case when s.semantic is not null then greatest((s.semantic - $16) / (1 - $16), 0) end' end,
    case p_fusion when 'additive' then 'memlayer.bm25_sigmoid(k.bm25, cardinality($8))' else 'case when k.bm25 > 0 then sqrt(least(k.bm25 / b.bm25, 1)) end' end,
    case p_fusion when 'additive' then 1.0 else 0.25 end)
$outer$;

comment on function memlayer.search_statement is
  'The statement memlayer.search runs, holding only the ids and filters that were given. Parameters: $1 tenant, $2 user, $3 agent, $4 run, $5 day, $6 vector, $7 model, $8 terms, $9 any of them, $10 what a match must hold, $11 depth of each leg, $12 threshold, $13 rows, $14 the folded query, $15 vectors of its names, $16 the usual cosine similarity of unrelated texts.';
