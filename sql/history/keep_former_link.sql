create or replace function memlayer.keep_former_link()
  returns trigger
  language plpgsql
  security definer
  set search_path from current
as $$
begin
  insert into memlayer.former_link (tenant, memory_id, linked_id, kind, created_at)
  values (old.tenant, old.memory_id, old.linked_id, old.kind, old.created_at)
  on conflict do nothing;
  return null;
end;
$$;

create or replace trigger link_history
  after delete on memlayer.link
  for each row execute function memlayer.keep_former_link();

comment on function memlayer.keep_former_link is 'After a reference was deleted: keeps that it stood, and until when.';
comment on trigger link_history on memlayer.link is 'Writes the history of references.';
