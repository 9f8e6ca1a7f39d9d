create or replace function memlayer.possible_names(p_text text)
  returns text[]
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  -- Runs of up to six words or twelve Chinese, Japanese, Korean or Thai characters, with what stands
  -- between them. Looking each up in an index costs the same however many names a scope knows.
  return (
    with piece as materialized (
      select array_agg(coalesce(p.match[1], p.match[2], p.match[3]) order by p.place) as pieces,
             array_agg(p.place::int order by p.place) filter (where p.match[1] is not null) as characters,
             array_agg(p.place::int order by p.place) filter (where p.match[2] is not null) as words
        from regexp_matches(
               p_text collate "C",
               '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FFF\u3005-\u3007\u3021-\uFAFF])'
               '|([A-Za-z0-9_\u00C0-\u0DFF\u0F00-\u0FFF\u10A0-\u177F\u1800-\u1FFF\u2C00-\u2DFF]+)'
               '|(.)', 'g') with ordinality p (match, place)
    ),
    span as (
      select array_to_string(p.pieces[w.place : p.words[w.nth + n]], '') as name
        from piece p
       cross join lateral unnest(p.words) with ordinality w (place, nth)
       cross join generate_series(0, 5) n
       where w.nth + n <= cardinality(p.words)
      union
      select array_to_string(p.pieces[c.place : c.place + n], '')
        from piece p
       cross join lateral unnest(p.characters) c (place)
       cross join generate_series(1, 11) n
       where c.place + n <= cardinality(p.pieces)
    )
    select array_agg(s.name) from span s where length(s.name) between 2 and 400
  );
end;
$$;

comment on function memlayer.possible_names is
  'What could be a name in a folded text: every short run of its words or characters.';
