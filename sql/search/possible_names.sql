create or replace function memlayer.possible_names(p_text text)
  returns text[]
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  v_names text[];
begin
  -- Runs of up to six words or twelve Chinese, Japanese, Korean or Thai characters, with what stands
  -- between them. Looking each up in an index costs the same however many names a scope knows.
  with piece as materialized (
    select array_agg(p.match[1] order by p.place) as words,
           array_agg(p.match[1] || p.match[2] order by p.place) as pieces
      from regexp_matches(
             p_text collate "C",
             '([A-Za-z0-9_\u00C0-\u0DFF\u0F00-\u0FFF\u10A0-\u177F\u1800-\u1FFF\u2C00-\u2DFF]+)'
             '([^A-Za-z0-9_\u00C0-\u0DFF\u0F00-\u0FFF\u10A0-\u177F\u1800-\u1FFF\u2C00-\u2DFF]*)', 'g') with ordinality p (match, place)
  )
  select array_agg(r.name)
    into v_names
    from piece p
   cross join generate_series(1, cardinality(p.words)) first
   cross join generate_series(first, least(first + 5, cardinality(p.words))) last
   cross join lateral (select array_to_string(p.pieces[first : last - 1], '') || p.words[last]) r (name)
   where length(r.name) between 2 and 400;

  if octet_length(p_text) = length(p_text) then
    return v_names;
  end if;
  with piece as materialized (
    select array_agg(coalesce(p.match[1], p.match[2], p.match[3]) order by p.place) as pieces,
           array_agg(p.place::int order by p.place) filter (where p.match[1] is not null) as characters
      from regexp_matches(
             p_text collate "C",
             '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FFF\u3005-\u3007\u3021-\uFAFF])'
             '|([A-Za-z0-9_\u00C0-\u0DFF\u0F00-\u0FFF\u10A0-\u177F\u1800-\u1FFF\u2C00-\u2DFF]+)'
             '|(.)', 'g') with ordinality p (match, place)
  )
  select v_names || array_agg(r.name)
    into v_names
    from piece p
   cross join lateral unnest(p.characters) first
   cross join generate_series(first + 1, least(first + 11, cardinality(p.pieces))) last
   cross join lateral (select array_to_string(p.pieces[first : last], '')) r (name)
   where length(r.name) <= 400;
  return v_names;
end;
$$;

comment on function memlayer.possible_names is
  'What could be a name in a folded text: every short run of its words or characters.';
