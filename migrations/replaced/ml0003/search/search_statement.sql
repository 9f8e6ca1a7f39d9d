create or replace function memlayer.search_statement(
  p_legs    text,
  p_where   text,
  p_fusion  text,
  p_is_past boolean default false
)
  returns text
  language sql
  immutable
  parallel safe
return p_legs || format($sql$,
scale as materialized (
  select case when $6 is null then 0 else 1.0 end
       + case when exists (select from keyword k where k.bm25 > 0) then 1.0 else 0 end
       + case when exists (select from entity e where e.boost > 0) then %3$s * 0.5 else 0 end
       + case when $22 is null then 0 else 0.5 end as max_possible
),
part as materialized (
  -- The gate is on the raw cosine: words and names rank, they do not rescue. A pending memory has no cosine and passes by words.
  select f.id, f.created_at, f.cosine,
         coalesce(%1$s, 0) as semantic,
         coalesce(%2$s, 0) as keyword,
         coalesce(%3$s * f.boost, 0) as entity,
         case when $22 is null then 0
              else 0.5 * 2 ^ -least(greatest(extract(epoch from $21 - f.observed_at), 0) / 86400 / $22, 1000) end as recency
    from found f
   cross join best b
   where $6 is null or f.cosine >= $12 - 1e-6 or (f.cosine is null and f.bm25 > 0)
),
summed as materialized (
  select p.*, p.semantic + p.keyword + p.entity + p.recency as total from part p
),
%4$s,
ranked as (
  select s.*, u.superseded_by, least(s.total, u.ceiling) as raw, c.max_possible,
         greatest(least(least(s.total, u.ceiling) / nullif(c.max_possible, 0), 1), 0) as score
    from summed s
   cross join scale c
    left join superseded u on u.id = s.id
   where $25 or u.superseded_by is null
   order by score desc, s.cosine desc nulls last, s.created_at desc, s.id
   limit $13
)
select m.id, m.text, m.hash, m.metadata, r.score::float8, m.created_at, m.updated_at,
       m.user_id, m.agent_id, m.run_id, m.actor_id, m.role, m.attributed_to, m.memory_type,
       m.expires_on, m.observed_at, m.version, r.superseded_by,
       jsonb_build_object(
         'semantic_score', case when r.cosine is not null then r.semantic end, 'bm25_score', r.keyword, 'entity_boost', r.entity,
         'recency', r.recency, 'superseded', r.raw - r.total,
         'raw_score', r.raw, 'max_possible_score', r.max_possible, 'final_score', r.score, 'threshold', $12,
         'cosine_similarity', r.cosine)
  from ranked r
 cross join lateral (
   select m.* from %5$s m where m.tenant = $1 and m.id = r.id%6$s) m
 order by r.score desc, r.cosine desc nulls last, r.created_at desc, r.id
$sql$,
    case p_fusion when 'additive' then 'f.cosine' else 'case when f.cosine is not null then greatest((f.cosine - $16) / (1 - $16), 0) end' end,
    case p_fusion when 'additive' then 'memlayer.bm25_sigmoid(f.bm25, cardinality($8))' else 'case when f.bm25 > 0 then sqrt(least(f.bm25 / b.bm25, 1)) end' end,
    case p_fusion when 'additive' then 1.0 else 0.25 end,
    memlayer.superseded_leg(p_where, p_is_past),
    case when p_is_past then 'past' else 'memlayer.memory' end,
    case when not p_is_past then ' offset 0' end);

comment on function memlayer.search_statement is
  'The statement memlayer.search runs: the legs, then gate, fusion and order. Parameters: $1 tenant, $2 user, $3 agent, $4 run, $5 day, $6 vector, $7 model, $8 terms, $9 any of them, $10 what a match must hold, $11 depth of each leg, $12 threshold, $13 rows, $14 what could be a name, $15 vectors of names, $16 the usual cosine similarity of unrelated texts, $17 and $18 the scope of stored statistics, $19 the nearest by index, $20 the folded query, $21 the moment recency counts from, and whose memories a search of the past reads, $22 its half-life in days, $23 whether the tenant has superseded memories, $24 whether to rank them below, $25 whether to find them, $26 the names of the vectors in $15; a compiled one also $27 a filter of metadata, $28 what is excluded.';
