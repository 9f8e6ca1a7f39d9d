create or replace function memlayer.bm25_sigmoid(
  p_bm25  float8,
  p_terms int
)
  returns float8
  language sql
  immutable
  parallel safe
-- The more terms a query has, the higher its raw scores: midpoint and steepness by their number.
return case
  when p_bm25 > 0 then
    1 / (1 + exp(-case when p_terms <= 3 then 0.7 when p_terms <= 6 then 0.6 else 0.5 end
                 * (p_bm25 - case when p_terms <= 3 then 5 when p_terms <= 6 then 7 when p_terms <= 9 then 9
                                  when p_terms <= 15 then 10 else 12 end)))
  else 0
end;

comment on function memlayer.bm25_sigmoid is
  'A raw BM25 score as 0 to 1, with the constants of mem0: (5, 0.7) up to 3 query terms, (7, 0.6) up to 6, (9, 0.5) up to 9, (10, 0.5) up to 15, else (12, 0.5).';
