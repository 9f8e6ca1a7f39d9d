create or replace function memlayer.now()
  returns timestamptz
  language sql
  stable
  parallel safe
-- A test may set the clock; nobody else should.
return coalesce(nullif(current_setting('memlayer.now', true), '')::timestamptz, statement_timestamp());

comment on function memlayer.now is
  'The time of the running statement, the same throughout one call: the clock of every function here. The setting memlayer.now replaces it in tests.';
