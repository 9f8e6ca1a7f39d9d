create or replace function memlayer.changed_keys(
  p_old_state jsonb,
  p_new_state jsonb
)
  returns text[]
  language sql
  immutable
  parallel safe
begin atomic
  -- Without updated_at, which every change changes.
  select coalesce(array_agg(k.key order by k.key), '{}')
    from (
      select coalesce(o.key, n.key)
        from jsonb_each(p_old_state - 'metadata' - 'updated_at') o
        full join jsonb_each(p_new_state - 'metadata' - 'updated_at') n on n.key = o.key
       where o.value is distinct from n.value
      union all
      select 'metadata.' || coalesce(o.key, n.key)
        from jsonb_each(p_old_state -> 'metadata') o
        full join jsonb_each(p_new_state -> 'metadata') n on n.key = o.key
       where o.value is distinct from n.value) k (key);
end;

comment on function memlayer.changed_keys is
  'The columns in which two states of a memory differ; keys of its metadata as metadata.key.';
