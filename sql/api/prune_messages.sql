create or replace function memlayer.prune_messages(
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
  v_sessions uuid[];
  v_deleted  bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_retention(p_keep, p_batch);
  if p_dry_run then
    return (
      select count(*)
        from memlayer.session s
        join memlayer.message b on b.tenant = p_tenant and b.session_id = s.id
       where s.tenant = p_tenant and s.updated_at < memlayer.now() - p_keep);
  end if;

  -- A session that somebody writes to is not idle: nobody waits.
  v_sessions := array(
    select s.id
      from memlayer.session s
     where s.tenant = p_tenant and s.last_seq > 0 and s.updated_at < memlayer.now() - p_keep
     order by s.id
     limit p_batch
       for no key update skip locked);
  delete from memlayer.message b where b.tenant = p_tenant and b.session_id = any (v_sessions);
  get diagnostics v_deleted = row_count;
  -- Its row stays, which writers lock; the next message is the first again.
  update memlayer.session s set last_seq = 0 where s.tenant = p_tenant and s.id = any (v_sessions);
  return v_deleted;
end;
$$;

comment on function memlayer.prune_messages is
  'Deletes the buffered messages of the sessions of a tenant to which nothing was said for p_keep, of at most p_batch sessions, and returns how many messages. p_dry_run counts all there are.';
