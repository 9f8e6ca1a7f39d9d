do $$
begin
  if current_setting('server_version_num')::int < 150000 then
    raise exception using
      errcode = '0A000',
      message = format('Postgres 15 or newer is needed, this is %s', current_setting('server_version')),
      hint    = 'Upgrade the server.';
  end if;
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception using
      errcode = '0A000',
      message = format('the database must be encoded in UTF8, this one is in %s', current_setting('server_encoding')),
      hint    = 'Create one with: create database … encoding ''UTF8'' template template0.';
  end if;
  if not exists (select from pg_available_extensions where name = 'vector') then
    raise exception using
      errcode = '58P01',
      message = 'the extension vector (pgvector) is not installed on this server',
      hint    = 'Install pgvector 0.8 or newer on the server (package postgresql-NN-pgvector).';
  end if;
  if not exists (select from pg_extension where extname = 'vector') then
    begin
      create extension vector;
    exception when insufficient_privilege then
      raise exception using
        errcode = '42501',
        message = format('role %I may not create the extension vector in database %I', current_user, current_database()),
        hint    = 'Let an administrator run in this database: create extension vector;';
    end;
  end if;
  if (select string_to_array(substring(extversion from '^[0-9]+\.[0-9]+'), '.')::int[] from pg_extension where extname = 'vector') < '{0,8}' then
    raise exception using
      errcode = '0A000',
      message = format('pgvector 0.8 or newer is needed, this is %s', (select extversion from pg_extension where extname = 'vector')),
      hint    = 'Let an administrator run in this database: alter extension vector update;';
  end if;
end;
$$;

create schema if not exists memlayer;

comment on schema memlayer is
  'The long-term memory of agents: memories, entities, history and the message buffer. Programs call its functions; analysts read its tables.';
