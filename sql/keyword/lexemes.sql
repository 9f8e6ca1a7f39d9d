create or replace function memlayer.lexemes(
  p_text   text,
  p_config regconfig
)
  returns table (place int, lexeme text, kind text)
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  -- Sets of characters are spelled out, because \w and the text parser see what the ctype of the
  -- database sees, and under "C" that is nothing but ASCII.
  -- Scripts that put no space between words: Thai, Lao, Burmese, Khmer, Hangul, kana, bopomofo, Han.
  c_unspaced constant text :=
    '\u0E01-\u0E3E\u0E40-\u0E4E\u0E50-\u0E59\u0E80-\u0EFF\u1000-\u1049\u1050-\u109F\u1780-\u17D3\u17D7\u17DC-\u17E9'
    '\u1100-\u11FF\u2E80-\u2FDF\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303B\u3041-\u309A\u309D-\u309F\u30A1-\u30FA'
    '\u30FC-\u31BF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA960-\uA97F\uA9E0-\uA9FF\uAA60-\uAA7F\uAC00-\uD7FF'
    '\uF900-\uFAFF\U0001B000-\U0001B16F\U00020000-\U0003FFFF';
  -- Vowel signs and tone marks that belong to the character before them.
  c_marks constant text :=
    '\u0E31\u0E34-\u0E3A\u0E47-\u0E4E\u0EB1\u0EB4-\u0EBC\u0EC8-\u0ECE\u102B-\u103E\u1056-\u1059\u105E-\u1060'
    '\u1062-\u1064\u1067-\u106D\u1071-\u1074\u1082-\u108D\u109A-\u109D\u17B4-\u17D3\u17DD\u3099\u309A\uA9E5\uAA7B-\uAA7D';
  -- Punctuation and symbols. What is missing here is dropped by the text parser where the ctype is UTF-8.
  c_between constant text :=
    '\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00A9\u00AB-\u00B4\u00B6-\u00B9\u00BB-\u00BF\u00D7\u00F7\u02B9-\u02FF\u037E\u0387\u0482'
    '\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05C6\u05F3\u05F4\u0600-\u060F\u061B-\u061F\u066A-\u066D\u06D4'
    '\u0964\u0965\u0970\u0E3F\u0E4F\u0E5A\u0E5B\u0F01-\u0F14\u0F3A-\u0F3D\u104A-\u104F\u10FB\u1360-\u1368\u1680'
    '\u17D4-\u17D6\u17D8-\u17DB\u1800-\u180E\u2000-\u2BFF\u2E00-\u2E7F\u2FF0-\u3004\u3008-\u3020\u302A-\u3030'
    '\u3036-\u303A\u303C-\u3040\u30A0\u30FB\u31C0-\u31EF\u3200-\u33FF\u4DC0-\u4DFF\uD800-\uF8FF\uFD3E\uFD3F\uFDFC-\uFDFF'
    '\uFE10-\uFE6F\uFF00-\uFFFF\U0001D000-\U0001D3FF\U0001F000-\U0001FBFF\U000E0000-\U0010FFFF';
  -- What holds an identifier together: AC-123, ann@example.com, foo/bar.py, memlayer_pg.flows, std::sort.
  c_joiners constant text := '-./:@+#&_';
  c_letter  constant text := '[^' || c_between || c_unspaced || ']';
  c_token   constant text :=
    '([' || c_unspaced || ']+)'
    '|([#@]?' || c_letter || '+(?:(?:[' || c_joiners || ']|://|::|__)' || c_letter || '+)*(?:\+\+|#)?)';
  v_text text;
begin
  -- The limits bound the time. A text grows by normalisation, hence the second cut; soft hyphens,
  -- joiners and variation selectors are not seen and must not split a word.
  v_text := left(memlayer.lower_case(regexp_replace(
    left(normalize(left(p_text, 250000), nfkc), 250000),
    '[\u00AD\u200D\u2060\uFE00-\uFE0F\uFEFF\U000E0100-\U000E01EF]' collate "C", '', 'g')), 250000);

  return query
  with token as materialized (
    select t.number, t.match[1] as run, left(t.match[2], 255) as word
      from regexp_matches(v_text, c_token collate "C", 'g') with ordinality t (match, number)
  ),
  piece as (
    select row_number() over (order by t.number, u.n)::int as place, t.word, u.n, u.piece, u.next
      from token t
     cross join lateral (
       select case
         when t.run ~ ('[' || c_marks || ']' collate "C")
           then array(select m.match[1] from regexp_matches(t.run, '.[' || c_marks || ']*' collate "C", 'g') m (match))
         when t.run is not null then string_to_array(t.run, null)
         when t.word ~ ('[' || c_joiners || ']' collate "C")
           then regexp_split_to_array(trim(t.word, c_joiners), '[' || c_joiners || ']+' collate "C")
         else array[t.word]
       end) s (pieces)
     cross join lateral unnest(s.pieces, s.pieces[2:]) with ordinality u (piece, next, n)
  )
  select p.place, p.piece, case when p.n = 1 and p.next is null then 'word' else 'character' end from piece p where p.word is null
  union all
  select p.place, p.piece || p.next, 'pair' from piece p where p.word is null and p.next is not null
  union all
  select p.place, memlayer.bare(p.word), 'whole' from piece p where p.n = 1 and p.word <> p.piece
  union all
  select p.place, s.stem, 'word' from piece p cross join unnest(memlayer.stems(p.piece, p_config)) s (stem) where p.word is not null;
end;
$$;

comment on function memlayer.lexemes is
  'What a text is found by, and where: stems of words; every character and every pair of neighbours where a script puts no space between words; '
  'identifiers whole, at the place of their first word. Place counts words and characters from 1; kind is word, whole, pair, or character '
  '(one that has a neighbour; alone it is a word). '
  'Reads 250,000 characters, of a word 255.';
