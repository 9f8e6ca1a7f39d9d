create or replace function memlayer.calibrate(
  p_tenant text   default 'default',
  p_model  bigint default null
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set jit = off
as $$
declare
  v_sample      uuid[];
  v_calibration real;
begin
  -- Ids are random, so the first of them are a random sample.
  v_sample := array(
    select m.id from memlayer.memory m where m.tenant = p_tenant and m.embedding_model = p_model order by m.id limit 64);
  if cardinality(v_sample) < 8
     or cardinality(v_sample) <= (select d.sample from memlayer.model d where d.tenant = p_tenant and d.id = p_model)
  then
    return;
  end if;

  -- The first percentile and not the mean: memories of one store are nearer to each other than to a
  -- question about something else. At most 0.95, so that a store of equal vectors still ranks.
  select least(greatest(percentile_cont(0.01) within group (order by 1 - (a.embedding <=> b.embedding)), 0), 0.95)
    into v_calibration
    from memlayer.memory a
    join memlayer.memory b on a.id < b.id
   where a.tenant = p_tenant and a.id = any (v_sample)
     and b.tenant = p_tenant and b.id = any (v_sample);

  update memlayer.model d
     set calibration = v_calibration, sample = cardinality(v_sample)
   where d.tenant = p_tenant and d.id = p_model;
end;
$$;

comment on function memlayer.calibrate is
  'Estimates what cosine similarity unrelated texts have under a model, from eight memories of the tenant on; from 64 the estimate is final. Called by memlayer.add and memlayer.update.';
