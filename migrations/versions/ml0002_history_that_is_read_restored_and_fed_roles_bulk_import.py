"""History that is read, restored and fed; roles; bulk import."""

from memlayer_pg import schema

revision = "ml0002"
down_revision = "ml0001"
branch_labels = None
depends_on = None

# Run again as they stand at this revision.
FILES: dict[str, str] = {
    "schema/test_time.sql": "f834c548592d",
    "schema/now.sql": "1857089f1afe",
    "keyword/document.sql": "d7830ad92340",
    "keyword/fold.sql": "29e70ff36e0c",
    "tables/former_link.sql": "5dbbd53c320f",
    "tables/incarnation.sql": "942ea0fc5c48",
    "feed/feed_position.sql": "c864ce8122f4",
    "tables/tenant_role.sql": "bead6cd9c755",
    "tables/receipt.sql": "d9e4ea600677",
    "schema/handshake.sql": "dae3289a0ef5",
    "scope/is_administrator.sql": "da4a2ce4f803",
    "scope/require_tenant.sql": "71c2ec26acda",
    "scope/login_tenants.sql": "a56af3f18158",
    "scope/require_ids.sql": "97252da97ecd",
    "scope/require_scope.sql": "c05c616c7e84",
    "scope/scope_digest.sql": "68588199e5df",
    "scope/day_read.sql": "733fbd50c69f",
    "scope/lock_session.sql": "22793f76ca33",
    "scope/lock_sessions.sql": "41642f8a1693",
    "filter/filter_comparison.sql": "7bb43a979cbe",
    "filter/filter_jsonpath.sql": "0637399439e7",
    "filter/filter_iso.sql": "9edeca862bea",
    "filter/filter_path.sql": "5421cbb8aba9",
    "model/model_of_vectors.sql": "3ef962b5db2e",
    "model/past_calibration.sql": "29324e97fa3c",
    "model/calibrate.sql": "626d591c29e9",
    "memory/free_dedup_key.sql": "6d1ef8aea469",
    "memory/derive_memory.sql": "a672a1fe9d7a",
    "history/mentions_of.sql": "09a7c9f4045f",
    "history/links_of.sql": "345648b74c96",
    "history/record_history.sql": "ceff1b9e8881",
    "history/refuse_truncate.sql": "89daaa232cf5",
    "history/require_history.sql": "b2d5e59243df",
    "history/triggers.sql": "1467c21dd676",
    "history/changed_keys.sql": "4cc8c34a84ce",
    "history/keep_former_link.sql": "a9d3fab72aa4",
    "memory/forget_context.sql": "0b1d9a12fc9a",
    "feed/feed_cursor.sql": "1cf4fedcc325",
    "feed/feed_horizon.sql": "01dd836697a6",
    "feed/notify_change.sql": "d81aa6ec15b0",
    "feed/start_incarnation.sql": "9222fae3e0ec",
    "setting/set_language.sql": "86febe03ced4",
    "setting/rebuild_documents.sql": "52f751eb4bfa",
    "entity/drop_orphans.sql": "09485e27658a",
    "entity/orphan_trigger.sql": "674c1056e7fa",
    "entity/store_entities.sql": "ecdf61d2fdaa",
    "entity/import_entities.sql": "56c34fcffb74",
    "memory/require_add.sql": "86314bba8965",
    "memory/require_import.sql": "7b6297419d74",
    "memory/surviving.sql": "e06889966a89",
    "memory/outcome.sql": "a8f4924e9a39",
    "memory/lock_memory.sql": "8e62caf82c52",
    "memory/recalled.sql": "bd8d3baa8258",
    "memory/require_version.sql": "fbf696525e87",
    "memory/put_back.sql": "20698a65b12f",
    "memory/version_to_restore.sql": "9a8acbb46987",
    "search/possible_names.sql": "73789e63a943",
    "search/exact_threshold.sql": "d78d8fd52f8f",
    "search/ef_search.sql": "278a71936560",
    "search/nearest.sql": "fa46e9dd7a89",
    "search/rarest_terms.sql": "a8867cdbd1a2",
    "search/occurrence_leg.sql": "ffb6c663dca9",
    "search/past_names.sql": "ef5e62364b8f",
    "search/entity_leg.sql": "f6a7ca6822bd",
    "search/past_rows.sql": "2c8eed459159",
    "search/exact_legs.sql": "7cf4bda0561b",
    "search/large_legs.sql": "84429aaf272f",
    "search/superseded_leg.sql": "46cb9c2511f0",
    "search/search_statement.sql": "369f23ed60be",
    "search/compiled.sql": "1e8a789cc596",
    "search/prepare_search.sql": "e39b27859176",
    "api/add.sql": "55d6573585bf",
    "api/messages.sql": "3095c19d04b8",
    "api/recall_context.sql": "b329371ce448",
    "api/search.sql": "e3d590e3c0b7",
    "api/explain_search.sql": "791170758716",
    "api/keyword_search.sql": "580b9d804017",
    "api/similar_to.sql": "c7af0ef552cd",
    "api/get.sql": "f53c37dca294",
    "api/get_all.sql": "482b7d43105f",
    "api/update.sql": "4189ec256fa8",
    "api/pending.sql": "a7b2dc5d3898",
    "api/import_memories.sql": "e60b0ab77773",
    "api/import_links.sql": "9d0c6133044b",
    "api/export_memories.sql": "a2946e610c5e",
    "api/delete.sql": "5d83cd863cc9",
    "api/delete_all.sql": "7c69e1078944",
    "api/restore.sql": "68d2ab383fdd",
    "api/undo.sql": "0e2a691b0cb1",
    "api/changes.sql": "5d73a80f7d3a",
    "api/history.sql": "96703b412e9d",
    "api/changes_since.sql": "61811e3b4117",
    "api/as_of.sql": "0edaeec8e03b",
    "api/scopes.sql": "4a166ea5d238",
    "api/refresh_statistics.sql": "e29c21fbbd39",
    "api/create_ann_index.sql": "18debac37da3",
    "api/recall_check.sql": "643f4d24fcfe",
    "api/reset.sql": "ce249be076a2",
    "api/erase.sql": "01ab3b4819a8",
    "api/prune_history.sql": "11ed60fd9867",
    "api/verify.sql": "125ad527fd86",
    "api/bind_tenant.sql": "d4abe712955c",
    "api/unbind_tenant.sql": "62fc34072e62",
    "views/memories.sql": "a638a8e0d129",
    "views/memory_versions.sql": "4efd80a566d6",
    "views/entities.sql": "3331eea5496f",
    "views/mentions.sql": "bf67c62b6ca4",
    "views/messages.sql": "ae8182dea8ce",
    "views/changes.sql": "ef01cd63bb19",
    "views/daily_activity.sql": "5e1fc4304d25",
    "views/scope_sizes.sql": "f1a51e6a98e4",
    "roles/policies.sql": "f2132b991620",
    "roles/grants.sql": "601f6f36808f",
}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {
    "tables/setting.sql": "674b540d9fc4",
    "tables/model.sql": "68249efa0330",
    "tables/session.sql": "4e72e58ff1eb",
    "tables/change.sql": "867cbc4aa110",
    "tables/memory.sql": "29af76b2bb40",
    "tables/entity.sql": "95b10d369aff",
    "tables/history.sql": "2fc93d7582c7",
}

# Not there any more.
REMOVED: list[str] = []


# Before the others: a column's default needs them.
FEED = ("tables/incarnation.sql", "feed/feed_position.sql")


def upgrade() -> None:
    schema.apply({path: FILES[path] for path in FEED}, at=revision)
    schema.alter(
        "alter table memlayer.history add column old_mentions jsonb, add column old_links jsonb, "
        "add column feed_position bigint not null default 0",
        # In two steps: with a default that moves, every row would be written anew.
        "alter table memlayer.history alter column feed_position "
        "set default memlayer.feed_position()",
        "alter table memlayer.change add column undoes uuid",
        "alter table memlayer.setting add column history_begins_at timestamptz",
        "alter table memlayer.model add column calibrations jsonb not null default '[]'",
        "update memlayer.model set calibrations = jsonb_build_array(jsonb_build_object("
        "'at', created_at, 'calibration', calibration)) where calibration is not null",
        at=revision,
    )
    schema.run("drop function memlayer.history")
    schema.run("drop function memlayer.delete")
    schema.run("drop function memlayer.get_all")
    schema.run("drop function memlayer.keyword_search")
    schema.run("drop function memlayer.explain_search")
    schema.run("drop function memlayer.search")
    schema.run("drop function memlayer.prepare_search")
    schema.run("drop function memlayer.search_of_run")
    schema.run("drop function memlayer.search_of_agent")
    schema.run("drop function memlayer.search_of_user")
    schema.run("drop function memlayer.search_statement")
    schema.run("drop function memlayer.superseded_leg")
    schema.run("drop function memlayer.exact_legs")
    schema.run("drop function memlayer.entity_leg")
    schema.run("drop function memlayer.exact_threshold")
    schema.run("drop function memlayer.lock_memory")
    schema.run("drop function memlayer.store_entities")
    schema.run("drop function memlayer.lock_session")
    schema.run("alter table memlayer.setting drop constraint setting_defaults_known")
    schema.run("alter table memlayer.session drop constraint session_scope_key")
    schema.run("alter table memlayer.entity drop constraint entity_name_key")
    schema.run("drop index memlayer.memory_dedup_key")
    schema.alter(
        "alter table memlayer.setting add constraint setting_defaults_known CHECK "
        "(((COALESCE((defaults ->> 'fusion'::text), 'additive'::text) = ANY "
        "(ARRAY['additive'::text, 'calibrated'::text])) AND (COALESCE((defaults ->> "
        "'exact_threshold'::text), '1'::text) ~ '^[0-9]{1,9}$'::text) AND "
        "(COALESCE((defaults ->> 'ef_search'::text), '1'::text) ~ "
        "'^([1-9][0-9]{0,2}|1000)$'::text) AND (jsonb_typeof(COALESCE((defaults -> "
        "'notify'::text), 'true'::jsonb)) = 'boolean'::text)))",
        "comment on column memlayer.setting.history_retention is 'How long "
        "memlayer.prune_history keeps single history rows; null for ever. Set it by SQL.'",
        "comment on column memlayer.setting.defaults is 'Defaults of this tenant, by "
        "name: fusion (calibrated or additive), exact_threshold (memories), ef_search "
        "(candidates in the vector index, at most 1,000), notify (true: a notification on"
        " channel memlayer_change after each transaction with changes).'",
        "comment on column memlayer.setting.history_begins_at is 'The moment before which"
        " memlayer.prune_history has taken history away; null when it never ran.'",
        "comment on column memlayer.model.calibrations is 'Every estimate of calibration "
        'there was, at most 57: [{"at", "calibration"}], oldest first. A search as of a '
        "moment takes that of then.'",
        "alter table memlayer.session alter column user_id set (n_distinct = -0.01)",
        "alter table memlayer.session alter column agent_id set (n_distinct = -0.01)",
        "alter table memlayer.session alter column run_id set (n_distinct = -0.01)",
        "create unique index session_scope_key on memlayer.session (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''))",
        "comment on index memlayer.session_scope_key is 'A combination stands once.'",
        "comment on column memlayer.change.operation is 'add, procedural, update, delete,"
        " delete_all, restore, undo, reset, …'",
        "comment on column memlayer.change.undoes is 'Of an undo: the call it reversed.'",
        "alter table memlayer.memory alter column user_id set (n_distinct = -0.01)",
        "alter table memlayer.memory alter column agent_id set (n_distinct = -0.01)",
        "alter table memlayer.memory alter column run_id set (n_distinct = -0.01)",
        "create unique index memory_dedup_key on memlayer.memory (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), dedup_key) "
        "where dedup_key is not null",
        "comment on index memlayer.memory_dedup_key is 'An extracted fact stands once in "
        "its exact scope.'",
        "alter table memlayer.entity alter column user_id set (n_distinct = -0.01)",
        "alter table memlayer.entity alter column agent_id set (n_distinct = -0.01)",
        "alter table memlayer.entity alter column run_id set (n_distinct = -0.01)",
        "create unique index entity_name_key on memlayer.entity (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), "
        "folded_name)",
        "comment on index memlayer.entity_name_key is 'A name stands once in its exact scope.'",
        "create unique index history_feed_key on memlayer.history (tenant, feed_position, seq)",
        "create index history_user_idx on memlayer.history (tenant, user_id, recorded_at)"
        " where event in ('DELETE', 'BASELINE') and user_id is not null",
        "create index history_agent_idx on memlayer.history (tenant, agent_id, "
        "recorded_at) where event in ('DELETE', 'BASELINE') and agent_id is not null",
        "create index history_run_idx on memlayer.history (tenant, run_id, recorded_at) "
        "where event in ('DELETE', 'BASELINE') and run_id is not null",
        "comment on column memlayer.history.old_mentions is 'Whom and what the memory "
        'named before, as [{"name", "type"}], where the change deleted it or set another '
        "text or vector; null where that stayed.'",
        "comment on column memlayer.history.old_links is 'The references from and to a "
        'memory that was deleted, as [{"memory_id", "linked_id", "kind", "created_at"}]; '
        "null without any.'",
        "comment on column memlayer.history.feed_position is 'Place in the change feed, "
        "before seq (memlayer.feed_position); 0 for what was written before there was a "
        "feed.'",
        "comment on index memlayer.history_feed_key is 'All changes of a tenant in the "
        "order of the feed.'",
        "comment on index memlayer.history_user_idx is 'What a user''s scope lost: "
        "deletions, and history that retention took away.'",
        "comment on index memlayer.history_agent_idx is 'What an agent''s scope lost.'",
        "comment on index memlayer.history_run_idx is 'What a run''s scope lost.'",
        at=revision,
    )
    schema.apply({path: text for path, text in FILES.items() if path not in FEED}, at=revision)
    schema.run("drop index memlayer.history_seq_key")
    # Kept plans go by what is known of the new indexes and of who has how many rows.
    for table in ("memory", "entity", "session"):
        schema.run(f"analyze memlayer.{table}")
    schema.record(revision, breaking=True)


def downgrade() -> None:
    schema.forget(revision)
    # Row-level security goes with the rights it hedges: the tables would be open to every reader.
    schema.run(
        """
do $$
declare
  v_statement text;
begin
  for v_statement in
    select format('drop policy %I on memlayer.%I', p.polname, c.relname)
      from pg_policy p join pg_class c on c.oid = p.polrelid
     where c.relnamespace = 'memlayer'::regnamespace
    union all
    select format('alter table memlayer.%I disable row level security', relname)
      from pg_class where relnamespace = 'memlayer'::regnamespace and relrowsecurity
    union all
    select format('revoke all on %s in schema memlayer from %s', k.kind, r.rolname)
      from pg_roles r, (values ('all tables'), ('all functions')) k (kind)
     where r.rolname in ('memlayer_app', 'memlayer_reader', 'memlayer_admin')
    union all
    select format('revoke usage on schema memlayer from %s', rolname)
      from pg_roles where rolname in ('memlayer_app', 'memlayer_reader', 'memlayer_admin')
  loop
    execute v_statement;
  end loop;
end;
$$;
"""
    )
    schema.run("drop view memlayer.scope_sizes")
    schema.run("drop view memlayer.daily_activity")
    schema.run("drop view memlayer.changes")
    schema.run("drop view memlayer.messages")
    schema.run("drop view memlayer.mentions")
    schema.run("drop view memlayer.entities")
    schema.run("drop view memlayer.memory_versions")
    schema.run("drop view memlayer.memories")
    schema.run("drop function memlayer.verify")
    schema.run("drop function memlayer.history")
    schema.run("drop function memlayer.delete")
    schema.run("drop function memlayer.get_all")
    schema.run("drop function memlayer.keyword_search")
    schema.run("drop function memlayer.explain_search")
    schema.run("drop function memlayer.search")
    schema.run("drop function memlayer.prepare_search")
    schema.run("drop function memlayer.search_of_run")
    schema.run("drop function memlayer.search_of_agent")
    schema.run("drop function memlayer.search_of_user")
    schema.run("drop function memlayer.search_statement")
    schema.run("drop function memlayer.superseded_leg")
    schema.run("drop function memlayer.exact_legs")
    schema.run("drop function memlayer.entity_leg")
    schema.run("drop function memlayer.exact_threshold")
    schema.run("drop function memlayer.lock_memory")
    schema.run("drop function memlayer.store_entities")
    schema.run("drop function memlayer.lock_session")
    schema.run("alter table memlayer.setting drop constraint setting_defaults_known")
    schema.run("drop index memlayer.entity_name_key")
    schema.run("drop index memlayer.memory_dedup_key")
    schema.run("drop index memlayer.session_scope_key")
    schema.alter(
        "alter table memlayer.entity add constraint entity_name_key UNIQUE NULLS NOT "
        "DISTINCT (tenant, user_id, agent_id, run_id, folded_name)",
        "alter table memlayer.session add constraint session_scope_key UNIQUE NULLS NOT "
        "DISTINCT (tenant, user_id, agent_id, run_id)",
        "alter table memlayer.setting add constraint setting_defaults_known CHECK "
        "(((COALESCE((defaults ->> 'fusion'::text), 'additive'::text) = ANY "
        "(ARRAY['additive'::text, 'calibrated'::text])) AND (COALESCE((defaults ->> "
        "'exact_threshold'::text), '1'::text) ~ '^[0-9]{1,9}$'::text)))",
        "comment on column memlayer.setting.history_retention is 'How long single history"
        " rows are kept; null for ever.'",
        "comment on column memlayer.setting.defaults is 'Defaults of this tenant, by "
        "name: fusion (calibrated or additive), exact_threshold (memories).'",
        "comment on column memlayer.change.operation is 'add, procedural, update, delete,"
        " delete_all, reset, …'",
        "create unique index memory_dedup_key on memlayer.memory (tenant, user_id, "
        "agent_id, run_id, dedup_key) nulls not distinct where dedup_key is not null",
        "comment on index memlayer.memory_dedup_key is 'An extracted fact stands once in "
        "its exact scope.'",
        "create unique index history_seq_key on memlayer.history (tenant, seq)",
        "comment on index memlayer.history_seq_key is 'All changes of a tenant in order.'",
        at=down_revision,
    )
    schema.run("drop trigger memory_history_deleted on memlayer.memory")
    schema.run("drop trigger memory_history_delete on memlayer.memory")
    schema.run("drop trigger link_history on memlayer.link")
    schema.run("drop trigger history_notify on memlayer.history")
    schema.run("drop trigger change_notify on memlayer.change")
    schema.run("drop index memlayer.history_feed_key")
    schema.alter(
        "alter table memlayer.history drop column old_mentions, drop column old_links, "
        "drop column feed_position",
        "alter table memlayer.change drop column undoes",
        "alter table memlayer.setting drop column history_begins_at",
        "alter table memlayer.model drop column calibrations",
        at=down_revision,
    )
    for table in ("memory", "entity", "session"):
        for column in ("user_id", "agent_id", "run_id"):
            schema.run(f"alter table memlayer.{table} alter column {column} reset (n_distinct)")
    schema.restore([*FILES, *REMOVED], at=down_revision)
    schema.run("drop function memlayer.unbind_tenant")
    schema.run("drop function memlayer.bind_tenant")
    schema.run("drop function memlayer.prune_history")
    schema.run("drop function memlayer.erase")
    schema.run("drop function memlayer.as_of")
    schema.run("drop function memlayer.changes_since")
    schema.run("drop function memlayer.changes")
    schema.run("drop function memlayer.undo")
    schema.run("drop function memlayer.restore")
    schema.run("drop function memlayer.export_memories")
    schema.run("drop function memlayer.import_links")
    schema.run("drop function memlayer.import_memories")
    schema.run("drop function memlayer.past_rows")
    schema.run("drop function memlayer.past_names")
    schema.run("drop function memlayer.occurrence_leg")
    schema.run("drop function memlayer.ef_search")
    schema.run("drop function memlayer.version_to_restore")
    schema.run("drop function memlayer.put_back")
    schema.run("drop function memlayer.require_version")
    schema.run("drop function memlayer.recalled_of_run")
    schema.run("drop function memlayer.recalled_of_agent")
    schema.run("drop function memlayer.recalled_of_user")
    schema.run("drop function memlayer.outcome")
    schema.run("drop function memlayer.require_import")
    schema.run("drop function memlayer.import_entities")
    schema.run("drop function memlayer.start_incarnation")
    schema.run("drop function memlayer.notify_change")
    schema.run("drop function memlayer.feed_horizon")
    schema.run("drop function memlayer.feed_cursor")
    schema.run("drop function memlayer.keep_former_link")
    schema.run("drop function memlayer.changed_keys")
    schema.run("drop function memlayer.require_history")
    schema.run("drop function memlayer.links_of")
    schema.run("drop function memlayer.mentions_of")
    schema.run("drop function memlayer.past_calibration")
    schema.run("drop function memlayer.model_of_vectors")
    schema.run("drop function memlayer.filter_path")
    schema.run("drop function memlayer.filter_comparison")
    schema.run("drop function memlayer.lock_sessions")
    schema.run("drop function memlayer.day_read")
    schema.run("drop function memlayer.scope_digest")
    schema.run("drop function memlayer.require_ids")
    schema.run("drop function memlayer.login_tenants")
    schema.run("drop function memlayer.require_tenant")
    schema.run("drop function memlayer.is_administrator")
    schema.run("drop table memlayer.receipt")
    schema.run("drop table memlayer.tenant_role")
    schema.run("drop index memlayer.history_run_idx")
    schema.run("drop index memlayer.history_agent_idx")
    schema.run("drop index memlayer.history_user_idx")
    schema.run("drop function memlayer.feed_position")
    schema.run("drop table memlayer.incarnation")
    schema.run("drop table memlayer.former_link")
    schema.run("drop function memlayer.test_time")
    schema.run("grant execute on all functions in schema memlayer to public")
