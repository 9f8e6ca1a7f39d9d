create or replace function memlayer.keyword_query(
  p_query  text,
  p_config regconfig default 'pg_catalog.english'
)
  returns table (terms text[], must tsquery, excluded tsquery)
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  -- A minus excludes only after a space and before a letter or a quote: "-5 °C", "a - b" and "x-ray"
  -- exclude nothing.
  c_excluded constant text := '(?<!\S)-(?:"([^"]+)"|([^\s!-@\u005B-\u0060\u007B-\u007E][^\s",;、。]*))';
  -- Cutting earlier costs much where a question comes last: recall@10 over Chinese questions was 0.77
  -- with 64 terms, 0.83 with all (the longest had 369).
  c_most     constant int  := 512;
  c_han      constant text := '[\u2E80-\u2FDF\u3005-\u3007\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]';
  v_text     text := coalesce(left(p_query, 4000), '');
  v_is_short boolean;
  v_evidence text[];
  v_without  tsquery;
  v_phrase   tsquery;
  v_part     text;
begin
  -- Full-width signs become ordinary ones, and all double quotes alike.
  if octet_length(v_text) <> length(v_text) then
    v_text := translate(left(normalize(v_text, nfkc), 4000), '“”„‟«»「」『』', '""""""""""');
  end if;

  if v_text ~ '(?<!\S)-\S' collate "C" then
    for v_part in
      select coalesce(m.match[1], m.match[2]) from regexp_matches(v_text, c_excluded collate "C", 'g') m (match) limit 16
    loop
      v_phrase := memlayer.phrase(v_part, p_config);
      v_without := coalesce(v_without || v_phrase, v_phrase, v_without);
    end loop;
    excluded := v_without;
    v_text := regexp_replace(v_text, c_excluded collate "C", ' ', 'g');
  end if;

  if octet_length(v_text) = length(v_text) then
    terms := array(
      select d.lexeme from unnest(memlayer.document(v_text, null, p_config)) d
       order by d.positions[1], d.lexeme limit c_most);
    v_evidence := terms;
  else
    -- A row is not found by a lone Hangul syllable, kana or Thai letter, which means nothing by
    -- itself, nor for a question of one short word by one character of it.
    v_is_short := length(trim(v_text, E' \t\n".,?!、。')) <= 3;
    select array_agg(t.lexeme order by t.place, t.lexeme),
           array_agg(t.lexeme) filter (where t.is_evidence or t.lexeme ~ c_han collate "C" and not v_is_short)
      into terms, v_evidence
      from (
        select l.lexeme, min(l.place) as place, bool_or(l.kind <> 'character') as is_evidence
          from memlayer.lexemes(v_text, p_config) l
         group by l.lexeme
         order by min(l.place), l.lexeme
         limit c_most
      ) t;
    terms := coalesce(terms, '{}');
  end if;
  if terms = '{}' then
    return next;
    return;
  end if;

  must := (select string_agg(memlayer.quote_lexeme(e.lexeme), ' | ') from unnest(v_evidence) e (lexeme))::tsquery;
  if v_text like '%"%"%' then
    for v_part in
      select m.match[1] from regexp_matches(v_text, '"([^"]+)"', 'g') m (match) limit 16
    loop
      v_phrase := memlayer.phrase(v_part, p_config);
      -- Beyond about sixteen words it is a citation in a question, and what answers the question
      -- seldom repeats it.
      if numnode(v_phrase) <= 32 then
        must := must && v_phrase;
      end if;
    end loop;
  end if;
  if v_without is not null then
    must := must && !!v_without;
  end if;
  return next;
end;
$$;

comment on function memlayer.keyword_query is
  'What to look for: the lexemes to score by (any may match; the first 512), a query every match must satisfy, null when nothing is left to look for, and what no memory found may hold. '
  '"Quoted words", up to sixteen, must follow one another (also “…”, „…“, «…», 「…」); a minus before a word or quote excludes; every other sign is '
  'plain text, so no text is an error. Reads 4,000 characters.';
