create or replace view memlayer.daily_activity
  with (security_invoker = true)
as
-- Two lists on top of one another, not joined: so a condition on the tenant reaches the index of each.
select a.tenant, a.day, a.user_id,
       count(*) filter (where a.event = 'ADD') as added,
       count(*) filter (where a.event = 'UPDATE') as updated,
       count(*) filter (where a.event = 'DELETE') as deleted,
       count(*) filter (where a.event = 'call') as calls,
       coalesce(sum(a.prompt_tokens), 0)::bigint as prompt_tokens,
       coalesce(sum(a.completion_tokens), 0)::bigint as completion_tokens,
       coalesce(sum(a.embedding_tokens), 0)::bigint as embedding_tokens
  from (
    select h.tenant, (h.recorded_at at time zone 'UTC')::date as day, h.user_id, h.event,
           0 as prompt_tokens, 0 as completion_tokens, 0 as embedding_tokens
      from memlayer.history h
     where h.event <> 'BASELINE'
    union all
    select c.tenant, (c.recorded_at at time zone 'UTC')::date as day, c.user_id, 'call' as event,
           c.prompt_tokens, c.completion_tokens, c.embedding_tokens
      from memlayer.change c) a
 group by a.tenant, a.day, a.user_id;

comment on view memlayer.daily_activity is 'One row a day and user on which something was written. Searches leave no trace, so they are not counted.';
comment on column memlayer.daily_activity.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.daily_activity.day is 'The day, in UTC.';
comment on column memlayer.daily_activity.user_id is 'User of the memories; null for those of an agent or run alone.';
comment on column memlayer.daily_activity.added is 'Memories added, by calls or by plain SQL.';
comment on column memlayer.daily_activity.updated is 'Updates of memories.';
comment on column memlayer.daily_activity.deleted is 'Memories deleted.';
comment on column memlayer.daily_activity.calls is 'Calls that wrote and named this user.';
comment on column memlayer.daily_activity.prompt_tokens is 'Tokens these calls sent to the chat model.';
comment on column memlayer.daily_activity.completion_tokens is 'Tokens the chat model answered with.';
comment on column memlayer.daily_activity.embedding_tokens is 'Tokens these calls sent to the embedding model.';
