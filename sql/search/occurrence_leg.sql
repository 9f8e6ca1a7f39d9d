create or replace function memlayer.occurrence_leg()
  returns text
  language sql
  immutable
  parallel safe
return $sql$sought as materialized (
  select q.lexeme, memlayer.quote_lexeme(q.lexeme)::tsquery as alone from unnest($8) q (lexeme)
),
occurrence as materialized (
  -- Taking a document apart costs more than asking it for a few terms. One as long as it has lexemes has each once.
  select m.id, m.document_length, m.kept and m.document @@ $10 as counts, q.lexeme,
         case when m.document_length = length(m.document) then 1
              else (select cardinality(t.positions) from unnest(m.document) t where t.lexeme = q.lexeme) end as frequency
    from matching m
    join sought q on m.document @@ q.alone
   where cardinality($8) <= 16
  union all
  select m.id, m.document_length, m.kept and m.document @@ $10, t.lexeme, cardinality(t.positions)
    from matching m
   cross join lateral unnest(m.document) t
   where cardinality($8) > 16
     and t.lexeme = any ($8)
)$sql$;

comment on function memlayer.occurrence_leg is
  'Which terms stand in which memories: from the CTE matching (id, document, document_length, kept) the CTE occurrence (id, document_length, counts, lexeme, frequency).';
