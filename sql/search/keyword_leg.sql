create or replace function memlayer.keyword_leg(p_k1 float8)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$best as materialized (
  -- What a memory of average length gets that has every term once; a term nobody has counts as the rarest.
  select coalesce(sum(t.idf), 0) + (cardinality($8) - count(t.*)) * ln(1 + (max(c.memories) + 0.5) / 0.5) as bm25
    from corpus c
    left join term t on true
),
keyword as materialized (
  -- BM25 with b = 0.75
  select o.id,
         sum(t.idf * o.frequency * (1 + %1$s) / (o.frequency + %1$s * (0.25 + 0.75 * o.document_length / c.average_length))) as bm25
    from occurrence o
    join term t using (lexeme)
   cross join corpus c
   where o.counts
   group by o.id
)$sql$, p_k1);

comment on function memlayer.keyword_leg is
  'BM25 over the CTEs corpus, term (lexeme, idf) and occurrence: CTEs best and keyword (id, bm25).';
