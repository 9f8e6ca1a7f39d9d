-- Bodies are bound while the objects are made, and the vector extension may live in any schema.
-- Functions that keep their body as text freeze this path with "set search_path from current".
select set_config(
  'search_path',
  concat_ws(', ', 'pg_catalog', 'memlayer', nullif(quote_ident(n.nspname), 'pg_catalog'), 'pg_temp'),
  true)
  from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
 where e.extname = 'vector';

-- A function with "set hnsw.…" can be made only once the library that owns that setting is loaded.
select '[1]'::halfvec;
