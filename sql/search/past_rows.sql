create or replace function memlayer.past_rows(p_moment text)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$past as materialized (
  select * from memlayer.as_of($1, %1$s, $2, $3, $4)
),
past_link as materialized (
  select l.tenant, l.memory_id, l.linked_id, l.kind
    from memlayer.link l
   where l.tenant = $1 and l.linked_id in (select p.id from past p) and l.created_at <= %1$s
  union
  select l.tenant, l.memory_id, l.linked_id, l.kind
    from memlayer.former_link l
   where l.tenant = $1 and l.linked_id in (select p.id from past p) and l.created_at <= %1$s and l.ended_at > %1$s
)$sql$, p_moment);

comment on function memlayer.past_rows is
  'What stood at a moment, for memlayer.search and memlayer.get_all: the CTEs past, as memlayer.as_of gives it, and past_link (tenant, memory_id, linked_id, kind). p_moment: SQL text of the moment.';
