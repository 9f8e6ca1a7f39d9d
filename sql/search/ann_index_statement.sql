create or replace function memlayer.ann_index_statement(
  p_tenant       text    default 'default',
  p_concurrently boolean default false
)
  returns text
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_model memlayer.model;
begin
  select * into v_model from memlayer.model where tenant = p_tenant and state = 'active';
  if not found then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s has no embedding model yet', p_tenant),
      hint    = 'Add a memory first.';
  end if;
  return format(
    'create index %s if not exists %I on memlayer.memory using hnsw ((embedding::%s.halfvec(%s)) %s.halfvec_cosine_ops) where embedding_model = %s',
    case when p_concurrently then 'concurrently' end,
    'memory_ann_' || v_model.id,
    (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'),
    v_model.dimensions,
    (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'),
    v_model.id);
end;
$$;

comment on function memlayer.ann_index_statement is
  'The statement that makes the approximate nearest neighbour index (HNSW, cosine) over the vectors of a tenant''s active model.';
