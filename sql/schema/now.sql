create or replace function memlayer.now()
  returns timestamptz
  language sql
  stable
  parallel safe
-- A test may set the clock, and nobody else.
return coalesce(case when current_setting('memlayer.now', true) <> '' then memlayer.test_time() end, statement_timestamp());

comment on function memlayer.now is
  'The time of the running statement, the same throughout one call: the clock of every function here. The setting memlayer.now replaces it in tests, for the owner of the schema alone.';
