create or replace function memlayer.stems(
  p_word   text,
  p_config regconfig
)
  returns text[]
  language sql
  immutable
  parallel safe
-- A stemmer and its stop words want the accents ("für", "canción"), a reader who types without them
-- wants none: so the word is stemmed as it stands, and without accents as well. Mostly both agree.
return case
    when octet_length(p_word) = length(p_word) or to_tsvector(p_config, p_word) = ''
    then tsvector_to_array(to_tsvector(p_config, p_word))
    else
      -- Nothing is left of a word that was all marks.
      array_remove(
        string_to_array(memlayer.bare(array_to_string(tsvector_to_array(to_tsvector(p_config, p_word)), ' ')), ' '), '')
      || tsvector_to_array(to_tsvector(p_config, memlayer.bare(p_word)))
  end;

comment on function memlayer.stems is
  'What a lower-case word is found by: its stem, and that of the word without accents; empty for a stop word. May say the same twice.';
