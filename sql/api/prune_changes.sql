create or replace function memlayer.prune_changes(
  p_tenant  text     default 'default',
  p_keep    interval default null,
  p_batch   int      default null,
  p_dry_run boolean  default false
)
  returns bigint
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
declare
  v_ids     uuid[];
  v_deleted bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_retention(p_keep, p_batch);
  v_ids := array(
    select c.id
      from memlayer.change c
     where c.tenant = p_tenant
       and c.recorded_at < memlayer.now() - p_keep
       -- What history names stays as long as that does.
       and not exists (select from memlayer.history h where h.tenant = p_tenant and h.change_id = c.id)
     order by c.recorded_at, c.id
     limit case when not p_dry_run then p_batch end);
  if p_dry_run then
    return cardinality(v_ids);
  end if;
  delete from memlayer.change c where c.tenant = p_tenant and c.id = any (v_ids);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end;
$$;

comment on function memlayer.prune_changes is
  'Deletes the records of calls of a tenant that are older than p_keep and named by no row of history any more (prune_history first), at most p_batch of them, and returns how many. Their tokens are then no longer counted and their idempotency keys forgotten. p_dry_run counts all there are.';
