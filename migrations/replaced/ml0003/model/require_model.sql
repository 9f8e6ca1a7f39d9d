create or replace function memlayer.require_model(
  p_tenant          text,
  p_active_name     text,
  p_active_size     int,
  p_name            text,
  p_dimensions      int
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_active_name is distinct from coalesce(p_name, p_active_name) or p_active_size is distinct from p_dimensions then
    raise exception using
      errcode = 'ML004',
      message = format('the memories of tenant %s are embedded with %s (%s dimensions), not with %s (%s dimensions)',
                       p_tenant, p_active_name, p_active_size, coalesce(p_name, 'this model'), p_dimensions),
      hint    = 'Configure the embedder the memories were made with, or keep memories of another model in a tenant of their own.';
  end if;
end;
$$;

comment on function memlayer.require_model is
  'Refuses vectors of another model or size than the tenant''s active one (ML004).';
