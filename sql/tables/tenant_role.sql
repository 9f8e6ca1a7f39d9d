create table memlayer.tenant_role (
  role     text        collate "C" not null,
  tenant   text        collate "C" not null,
  bound_at timestamptz not null default statement_timestamp(),
  bound_by text        not null default session_user,

  -- Asked by login, in every call: so not by tenant first.
  constraint tenant_role_pkey primary key (role, tenant)
);

comment on table memlayer.tenant_role is
  'One row a login and a tenant that it may use (memlayer.bind_tenant). A login without a row may use tenant ''default'' alone.';
comment on column memlayer.tenant_role.role is 'The role that logs in (session_user), by name: a dump can be restored where the role is missing.';
comment on column memlayer.tenant_role.tenant is 'A tenant it may use.';
comment on column memlayer.tenant_role.bound_at is 'When it was bound.';
comment on column memlayer.tenant_role.bound_by is 'The role that bound it.';
