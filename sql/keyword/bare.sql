create or replace function memlayer.bare(p_text text)
  returns text
  language sql
  immutable
  parallel safe
-- Latin, Greek, Cyrillic, Hebrew and Arabic marks go; й and ў stay, being letters of their own.
-- Kana and Hangul are put together again by the last step.
return translate(
  replace(replace(replace(
    normalize(
      regexp_replace(
        normalize(p_text, nfd),
        '(?<![иу])\u0306|[\u0300-\u0305\u0307-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u0640\u064B-\u065F\u0670]' collate "C",
        '', 'g'),
      nfc),
    'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
  'øłđðħıŧς', 'olddhitσ');

comment on function memlayer.bare is
  'Lower-case words without accents, vowel points and other marks that people leave out when they type: "café" becomes "cafe".';
