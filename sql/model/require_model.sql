create or replace function memlayer.require_model(
  p_tenant          text,
  p_active_name     text,
  p_active_size     int,
  p_name            text,
  p_dimensions      int
)
  returns void
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  if p_active_name is distinct from coalesce(p_name, p_active_name) or p_active_size is distinct from p_dimensions then
    raise exception using
      errcode = 'ML004',
      message = format('the memories of tenant %s are embedded with %s (%s dimensions), not with %s (%s dimensions)',
                       p_tenant, p_active_name, p_active_size, coalesce(p_name, 'this model'), p_dimensions),
      hint    = coalesce(
        (select case d.state
                  when 'next' then format('They are being re-embedded with it; until memlayer reembed is done, configure %s.', p_active_name)
                  when 'retired' then format('They are not of it any more: configure %s%s.', p_active_name, case when exists (
                    select from memlayer.model a where a.tenant = p_tenant and a.state = 'active' and a.replaces = d.id)
                    then ', or go back with memlayer reembed --rollback' end) end
           from memlayer.model d
          where d.tenant = p_tenant and d.name = p_name and d.dimensions = p_dimensions),
        'Configure the embedder the memories were made with, keep memories of another model in a tenant of their own, or change the model with memlayer reembed.');
  end if;
end;
$$;

comment on function memlayer.require_model is
  'Refuses vectors of another model or size than the tenant''s active one (ML004).';
