create or replace function memlayer.outcome(
  p_facts   jsonb,
  p_ids     uuid[],
  p_new     uuid[],
  p_revived uuid[]
)
  returns table (fact int, id uuid, text text, event text, reason text)
  language sql
  immutable
  parallel safe
begin atomic
  select f.ordinality::int, p_ids[f.ordinality], f.value ->> 'text',
         case when o.is_first_new then 'ADD' else 'SKIP' end,
         case when o.is_first_new then null
              when p_ids[f.ordinality] = any (p_revived) then 'revived'
              else 'duplicate' end
    from jsonb_array_elements(p_facts) with ordinality f
         -- A fact that stands twice in the call was stored once, for one of the two places.
   cross join lateral (
         select p_ids[f.ordinality] = any (p_new)
                and not p_ids[f.ordinality] = any (p_ids[:f.ordinality - 1]) as is_first_new) o
   order by f.ordinality;
end;

comment on function memlayer.outcome is
  'What memlayer.add says of each fact: p_ids are the ids under which they stand, p_new those it added and p_revived those that had expired.';
