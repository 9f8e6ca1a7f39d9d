create or replace function memlayer.calibrate(
  p_tenant text   default 'default',
  p_model  bigint default null
)
  returns real
  language plpgsql
  volatile
  set search_path from current
  set jit = off
as $$
declare
  v_calibration real;
begin
  -- Ids are random, so the first of them are a random sample. The first percentile and not the mean:
  -- memories of one store are nearer to each other than to a question about something else. At most
  -- 0.95, so that a store of equal vectors still ranks.
  with sample as (
    select m.id, m.embedding
      from memlayer.memory m
     where m.tenant = p_tenant and m.embedding_model = p_model
     order by m.id
     limit 64
  )
  select case when count(*) > 0 then least(greatest(percentile_cont(0.01) within group (order by 1 - (a.embedding <=> b.embedding)), 0), 0.95) end
    into v_calibration
    from sample a
    join sample b on a.id < b.id
   where (select count(*) from sample) = 64;

  update memlayer.model d
     set calibration = v_calibration
   where d.tenant = p_tenant and d.id = p_model and d.calibration is null and v_calibration is not null;
  return memlayer.calibration(p_tenant, p_model);
end;
$$;

comment on function memlayer.calibrate is
  'Estimates from 64 memories of a tenant what cosine similarity unrelated texts have under a model, once; with fewer memories it waits. Called by memlayer.add.';
