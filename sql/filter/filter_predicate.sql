create or replace function memlayer.filter_predicate(
  p_filters jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
-- How it reads a row:
--   A key is a column where memlayer.filter_kind says so, else a key of metadata; "a.b" also the b inside a.
--   Types are kept apart: 1 is 1.0 but not "1" and not true. A comparison of unlike types does not hold.
--   A list value holds what one of its elements holds; only {"eq": [...]} looks at it as a whole.
--   null is a value of metadata: {"k": null} finds rows that have k with null, not those that lack it. A column
--   has no such difference: there null is absent.
--   ne, nin and NOT are plain negation, so they find the rows that lack the key: ne 4, nin [4], NOT {k: 4} and
--   NOT {k: {in: [4]}} find the same. Every condition is true or false, never null, which makes that so in SQL.
as $$
begin
  return case when p_filters is null or p_filters = 'null' then 'true' else memlayer.filter_tree(p_filters) end;
end;
$$;

comment on function memlayer.filter_predicate is
  'SQL condition over memlayer.memory m, never null, for a JSON filter: {"key": value}, {"key": [any of]}, {"key": "*"}, {"key": {"eq|ne|gt|gte|lt|lte|in|nin|contains|icontains": value}}, AND, OR and NOT with lists of filters. Raises ML003 for anything else.';
