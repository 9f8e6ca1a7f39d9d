create or replace function memlayer.notify_change()
  returns trigger
  language plpgsql
  security definer
  set search_path from current
as $$
begin
  -- Equal notifications of one transaction are sent once.
  perform pg_notify('memlayer_change', new.tenant)
     from memlayer.setting s
    where s.tenant = new.tenant and s.defaults @> '{"notify": true}';
  return null;
end;
$$;

comment on function memlayer.notify_change is
  'Tells listeners on the channel memlayer_change, when the transaction commits, which tenant has changes; for tenants whose setting.defaults says "notify": true.';

-- A call leaves one row in change, however many memories it writes: it need not look for each.
create or replace trigger change_notify
  after insert on memlayer.change
  for each row execute function memlayer.notify_change();

create or replace trigger history_notify
  after insert on memlayer.history
  for each row when (new.change_id is null) execute function memlayer.notify_change();

comment on trigger change_notify on memlayer.change is 'Tells listeners of a call that wrote, where the tenant wants that.';
comment on trigger history_notify on memlayer.history is 'Tells listeners of a change by plain SQL, where the tenant wants that.';
