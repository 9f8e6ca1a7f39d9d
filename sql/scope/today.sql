create or replace function memlayer.today()
  returns date
  language sql
  stable
  parallel safe
return (memlayer.now() at time zone 'UTC')::date;

comment on function memlayer.today is
  'Today in UTC. A memory is found up to and including the day it expires on.';
