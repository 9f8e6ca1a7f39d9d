create or replace function memlayer.filter_exists(
  p_paths     text[],
  p_condition text
)
  returns text
  language sql
  immutable
  strict
  parallel safe
return (
  select string_agg(format('exists (select from jsonb_path_query(m.metadata, %L) v where %s)', path, p_condition), ' or ')
    from unnest(p_paths) as paths (path)
);

comment on function memlayer.filter_exists is
  'SQL condition, never null: at one of the places stands a value v for which the SQL condition holds.';
