create or replace function memlayer.filter_jsonpath(
  p_paths       text[],
  p_comparisons text[]
)
  returns text
  language sql
  immutable
  strict
  parallel safe
-- Written as a filter on the root, for three reasons: a comparison of unlike types, which is unknown, comes out as
-- false; a list is compared element by element, one level deep; and a GIN index on metadata serves equality.
return format(
  'm.metadata @? %L',
  (select '$ ? (' || string_agg('@' || substr(path, 2) || ' ' || comparison, ' || ' order by n, path collate "C") || ')'
     from unnest(p_comparisons) with ordinality as comparisons (comparison, n)
    cross join unnest(p_paths) as paths (path))
);

comment on function memlayer.filter_jsonpath is
  'SQL condition, never null: at one of the places stands a value, or a list with an element, for which one of the comparisons holds ("== 4").';
