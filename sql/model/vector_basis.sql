create or replace function memlayer.vector_basis(
  p_text    text,
  p_context text default null
)
  returns text
  language sql
  immutable
  parallel safe
return md5(p_text || coalesce(E'\n' || p_context, ''));

comment on function memlayer.vector_basis is 'Digest of what the vector of a memory or the name of an entity is made of.';
