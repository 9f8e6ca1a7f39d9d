create or replace function memlayer.document_length(p_document tsvector)
  returns int
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  return (select coalesce(sum(coalesce(cardinality(d.positions), 1)), 0) from unnest(p_document) d);
end;
$$;

comment on function memlayer.document_length is
  'How many lexemes a document has, repeats included: the length of a memory in BM25.';
