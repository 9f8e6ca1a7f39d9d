create or replace function memlayer.buffer_messages(
  p_tenant      text,
  p_session     uuid,
  p_last_seq    bigint,
  p_messages    jsonb,
  p_observed_at timestamptz
)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
begin
  delete from memlayer.message m
   where m.tenant = p_tenant and m.session_id = p_session and m.seq <= p_last_seq - 10
     and jsonb_array_length(p_messages) > 0;

  insert into memlayer.message (tenant, session_id, seq, role, content, name, created_at)
  select p_tenant, p_session, p_last_seq - jsonb_array_length(p_messages) + m.ordinality,
         m.value ->> 'role', m.value ->> 'content', m.value ->> 'name',
         coalesce((m.value ->> 'created_at')::timestamptz, p_observed_at, memlayer.now())
    from jsonb_array_elements(p_messages) with ordinality m
   where m.ordinality > jsonb_array_length(p_messages) - 10;
end;
$$;

comment on function memlayer.buffer_messages is
  'Puts messages into the ring buffer of a session, whose lock the caller holds: the newest ten stay. p_last_seq is the number of the last of them.';
