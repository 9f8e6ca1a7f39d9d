create or replace function memlayer.filter_comparison(
  p_paths       text[],
  p_comparisons text[]
)
  returns text
  language sql
  immutable
  strict
  parallel safe
return (
  select string_agg('@' || substr(path, 2) || ' ' || comparison, ' || ' order by n, path collate "C")
    from unnest(p_comparisons) with ordinality as comparisons (comparison, n)
   cross join unnest(p_paths) as paths (path)
);

comment on function memlayer.filter_comparison is
  'The condition of a jsonpath filter: at one of the places stands a value for which one of the comparisons holds ("== 4").';
