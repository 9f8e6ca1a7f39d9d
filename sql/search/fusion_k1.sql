create or replace function memlayer.fusion_k1(p_fusion text)
  returns float8
  language sql
  immutable
  parallel safe
-- mem0's sigmoid is made for the usual constant; a share of the best possible ranks short facts better
-- when a word counts nearly the same the second time (docs/retrieval.md).
return case p_fusion when 'additive' then 1.2 else 0.3 end;

comment on function memlayer.fusion_k1 is 'The constant k1 of BM25 under a fusion: 1.2 for additive, 0.3 for calibrated.';
