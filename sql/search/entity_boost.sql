create or replace function memlayer.entity_boost(
  p_similarity float8,
  p_memories   bigint
)
  returns float8
  language sql
  immutable
  parallel safe
-- A name that is everywhere says little: the boost fades with the square of how many memories carry it.
return least(p_similarity, 1) * 0.5 / (1 + 0.001 * (greatest(p_memories, 1) - 1) ^ 2);

comment on function memlayer.entity_boost is
  'What naming an entity adds to the score of each memory that mentions it, at most 0.5: similarity × 0.5 / (1 + 0.001 (n - 1)²) for an entity n memories mention.';
