create or replace function memlayer.notify_change()
  returns trigger
  language plpgsql
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

create or replace trigger history_notify
  after insert on memlayer.history
  for each row execute function memlayer.notify_change();

comment on trigger history_notify on memlayer.history is 'Tells listeners that there are changes, where the tenant wants that.';
