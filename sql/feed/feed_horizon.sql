create or replace function memlayer.feed_horizon()
  returns bigint
  language sql
  stable
  set search_path from current
return coalesce(
  (select case when i.system_identifier = (pg_control_system()).system_identifier
            then i.number * 281474976710656 + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
            else (i.number + 1) * 281474976710656
          end
     from memlayer.incarnation i
    order by i.number desc, i.server_started desc
    limit 1),
  281474976710656);

comment on function memlayer.feed_horizon is
  'Changes with a lower feed position are decided: whoever could still write one has ended, or wrote in another cluster.';
