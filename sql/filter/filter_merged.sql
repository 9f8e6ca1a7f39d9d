create or replace function memlayer.filter_merged(
  p_items jsonb
)
  returns jsonb
  language sql
  stable
  strict
  parallel safe
-- Thousands of conditions are planned and then walked through for each row; a list is hashed once.
begin atomic
  with item (n, filter) as (
    select elements.n, elements.filter
      from jsonb_array_elements(p_items) with ordinality as elements (filter, n)
  ),
  equality (n, key, value) as (
    select i.n, min(e.key), (array_agg(e.value))[1]
      from item i
     cross join lateral jsonb_each(case when jsonb_typeof(i.filter) = 'object' then i.filter end) e
     group by i.n
    having count(*) = 1
       and (array_agg(jsonb_typeof(e.value)))[1] in ('string', 'number', 'boolean', 'null')
       and (array_agg(e.value))[1] <> '"*"'
       and min(e.key) not in ('AND', 'OR', 'NOT', '$and', '$or', '$not')
  ),
  merged (n, filter) as (
    select min(q.n), jsonb_build_object(q.key, jsonb_agg(q.value order by q.n))
      from equality q
     group by q.key
    union all
    select i.n, i.filter
      from item i
      left join equality q on q.n = i.n
     where q.n is null
  )
  select jsonb_agg(m.filter order by m.n) from merged m;
end;

comment on function memlayer.filter_merged is
  'The filters of an OR with all equalities of one key as one list: they find the same.';
