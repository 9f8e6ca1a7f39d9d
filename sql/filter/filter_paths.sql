create or replace function memlayer.filter_paths(
  p_key text
)
  returns text[]
  language sql
  stable
  strict
  parallel safe
-- "a.b" is the key of that name, and the b inside a: a row that holds either is meant. One inside a list of
-- objects counts too, as everywhere in jsonpath. Quoted as JSON, no key can end the path it stands in.
begin atomic
  with key (name) as (
    select regexp_replace(p_key, '^metadata\.', '')
  )
  select array_remove(
    array[
      '$.' || to_json(name)::text,
      (select '$' || string_agg('.' || to_json(part)::text, '' order by position)
         from unnest(string_to_array(name, '.')) with ordinality as parts (part, position)
       having count(*) > 1)
    ],
    null)
    from key;
end;

comment on function memlayer.filter_paths is
  'The places in metadata that a key of a filter means, as jsonpaths: the key itself and, if it has dots, the nested one.';
