create or replace function memlayer.require_storable(
  p_text     text,
  p_context  text,
  p_metadata jsonb
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_text is null or p_text ~ '^[\s\u200B-\u200F\u2060\uFEFF]*$' then
    raise exception using
      errcode = 'ML005',
      message = 'the text is blank',
      hint    = 'A memory needs at least one visible character.';
  end if;
  if octet_length(p_text) > 10485760 or octet_length(p_context) > 10485760 then
    raise exception using
      errcode = 'ML005',
      message = format('the text is %s bytes long', greatest(octet_length(p_text), octet_length(p_context))),
      hint    = 'A memory may have up to 10 MB (10,485,760 bytes) of text.';
  end if;
  if jsonb_typeof(p_metadata) is distinct from 'object' then
    raise exception using
      errcode = 'ML005',
      message = 'the metadata is not a JSON object',
      hint    = 'Pass an object, {} for none.';
  end if;
  if pg_column_size(p_metadata) > 524288 and octet_length(p_metadata::text) > 1048576 then
    raise exception using
      errcode = 'ML005',
      message = format('the metadata is %s bytes long', octet_length(p_metadata::text)),
      hint    = 'Metadata may have up to 1 MB (1,048,576 bytes) as JSON text.';
  end if;
end;
$$;

comment on function memlayer.require_storable is
  'Refuses text and metadata beyond the limits (ML005).';
