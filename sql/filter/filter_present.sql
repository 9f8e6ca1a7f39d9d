create or replace function memlayer.filter_present(
  p_key text
)
  returns text
  language sql
  stable
  strict
  parallel safe
return coalesce(
  memlayer.filter_column(p_key) || ' is not null',
  (select string_agg(format('m.metadata @? %L', path), ' or ') from unnest(memlayer.filter_paths(p_key)) path)
);

comment on function memlayer.filter_present is
  'SQL condition, never null, for "*": metadata has the key, be its value null; or the column is not null.';
