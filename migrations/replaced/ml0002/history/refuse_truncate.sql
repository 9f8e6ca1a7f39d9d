create or replace function memlayer.refuse_truncate()
  returns trigger
  language plpgsql
  set search_path from current
as $$
begin
  raise exception using
    errcode = '0A000',
    message = format('%I.%I is not truncated: history would miss it', tg_table_schema, tg_table_name),
    hint    = 'Use memlayer.delete_all or memlayer.reset.';
end;
$$;

comment on function memlayer.refuse_truncate is 'Refuses TRUNCATE, which no row trigger sees.';
