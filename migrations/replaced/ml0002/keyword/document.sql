create or replace function memlayer.document(
  p_text    text,
  p_context text      default null,
  p_config  regconfig default 'pg_catalog.english'
)
  returns tsvector
  language sql
  immutable
  parallel safe
-- Of plain English sentences Postgres' own parser makes the same lexemes in a tenth of the time. It
-- must not see signs, dots or hyphens inside words (it takes "AC-123" for "ac" and minus 123,
-- ".." for a file, and splits "1e5a"), nor a word that memlayer.lexemes would cut.
return case
    when coalesce(length(p_text), 0) + coalesce(length(p_context), 0) < 250000
     and coalesce(p_text || E'\n' || p_context, p_text, '')
         !~ '[^A-Za-z0-9\s,;:!?.()"''%$&-]|[.:&-][A-Za-z0-9]|[&-]\S|\.\.|\d[eE]\d|[A-Za-z0-9]{255}' collate "C"
    then to_tsvector(p_config, coalesce(p_text || E'\n' || p_context, p_text, ''))
    else memlayer.full_document(coalesce(p_text || E'\n' || p_context, p_text, ''), p_config)
  end;

comment on function memlayer.document is
  'The keyword document of a memory: text, then the context indexed with it. The one place that knows how language is indexed; see memlayer.lexemes. '
  'Lexeme positions count words, so phrases can be found.';
