"""Searches and writes with kept plans, and bulk import."""

from memlayer_pg import schema

revision = "ml0002"
down_revision = "ml0001"
branch_labels = None
depends_on = None

# Run again as they stand at this revision.
FILES: dict[str, str] = {
    "keyword/document.sql": "d7830ad92340",
    "keyword/fold.sql": "29e70ff36e0c",
    "scope/require_scope.sql": "b7398292f35a",
    "scope/lock_session.sql": "22793f76ca33",
    "scope/lock_sessions.sql": "41642f8a1693",
    "filter/filter_comparison.sql": "7bb43a979cbe",
    "filter/filter_jsonpath.sql": "0637399439e7",
    "filter/filter_iso.sql": "9edeca862bea",
    "filter/filter_path.sql": "5421cbb8aba9",
    "model/model_of_vectors.sql": "3ef962b5db2e",
    "memory/free_dedup_key.sql": "6d1ef8aea469",
    "memory/derive_memory.sql": "63ad62c00d56",
    "history/record_history.sql": "5afcf761f902",
    "entity/drop_orphans.sql": "09485e27658a",
    "entity/store_entities.sql": "ecdf61d2fdaa",
    "entity/import_entities.sql": "56c34fcffb74",
    "memory/require_add.sql": "86314bba8965",
    "memory/require_import.sql": "7b6297419d74",
    "memory/surviving.sql": "e06889966a89",
    "memory/outcome.sql": "a8f4924e9a39",
    "memory/lock_memory.sql": "8e62caf82c52",
    "memory/recalled.sql": "bd8d3baa8258",
    "search/possible_names.sql": "73789e63a943",
    "search/ef_search.sql": "278a71936560",
    "search/nearest.sql": "fa46e9dd7a89",
    "search/occurrence_leg.sql": "ffb6c663dca9",
    "search/exact_legs.sql": "e9d4ece7f25f",
    "search/large_legs.sql": "3b78d0d386d4",
    "search/search_statement.sql": "8c55fc245da7",
    "search/compiled.sql": "1e8a789cc596",
    "search/prepare_search.sql": "e092ed7b8770",
    "api/add.sql": "b04f3cf8ce15",
    "api/messages.sql": "077680cce663",
    "api/recall_context.sql": "390ef4b590eb",
    "api/search.sql": "a7ca0e7df5e4",
    "api/explain_search.sql": "f127e8192b1a",
    "api/update.sql": "639cfd522363",
    "api/import_memories.sql": "98fe5dde5bae",
    "api/import_links.sql": "994c93d5f169",
    "api/export_memories.sql": "c824cb1f73f7",
    "api/delete.sql": "96f23aa627b4",
    "api/delete_all.sql": "9d795c1f25e0",
    "api/recall_check.sql": "0d5ef34545fa",
}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {
    "tables/setting.sql": "0a0a8e42d5da",
    "tables/session.sql": "012d07275edf",
    "tables/memory.sql": "63187b9ef7f1",
    "tables/entity.sql": "63cfd23bb699",
}

# Not there any more.
REMOVED: list[str] = []


def upgrade() -> None:
    schema.run("drop function memlayer.prepare_search")
    schema.run("drop function memlayer.search_of_run")
    schema.run("drop function memlayer.search_of_agent")
    schema.run("drop function memlayer.search_of_user")
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
        "'^([1-9][0-9]{0,2}|1000)$'::text)))",
        "comment on column memlayer.setting.defaults is 'Defaults of this tenant, by "
        "name: fusion (calibrated or additive), exact_threshold (memories), ef_search "
        "(candidates in the vector index, at most 1,000).'",
        "create unique index session_scope_key on memlayer.session (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''))",
        "comment on index memlayer.session_scope_key is 'A combination stands once.'",
        "create unique index memory_dedup_key on memlayer.memory (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), dedup_key) "
        "where dedup_key is not null",
        "comment on index memlayer.memory_dedup_key is 'An extracted fact stands once in "
        "its exact scope.'",
        "create unique index entity_name_key on memlayer.entity (tenant, "
        "coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), "
        "folded_name)",
        "comment on index memlayer.entity_name_key is 'A name stands once in its exact scope.'",
        at=revision,
    )
    schema.apply(FILES, at=revision)
    schema.record(revision)


def downgrade() -> None:
    schema.forget(revision)
    schema.run("drop function memlayer.prepare_search")
    schema.run("drop function memlayer.search_of_run")
    schema.run("drop function memlayer.search_of_agent")
    schema.run("drop function memlayer.search_of_user")
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
        "comment on column memlayer.setting.defaults is 'Defaults of this tenant, by "
        "name: fusion (calibrated or additive), exact_threshold (memories).'",
        "create unique index memory_dedup_key on memlayer.memory (tenant, user_id, "
        "agent_id, run_id, dedup_key) nulls not distinct where dedup_key is not null",
        "comment on index memlayer.memory_dedup_key is 'An extracted fact stands once in "
        "its exact scope.'",
        at=down_revision,
    )
    schema.restore([*FILES, *REMOVED], at=down_revision)
    schema.run("drop function memlayer.export_memories")
    schema.run("drop function memlayer.import_links")
    schema.run("drop function memlayer.import_memories")
    schema.run("drop function memlayer.occurrence_leg")
    schema.run("drop function memlayer.ef_search")
    schema.run("drop function memlayer.recalled_of_run")
    schema.run("drop function memlayer.recalled_of_agent")
    schema.run("drop function memlayer.recalled_of_user")
    schema.run("drop function memlayer.outcome")
    schema.run("drop function memlayer.require_import")
    schema.run("drop function memlayer.import_entities")
    schema.run("drop function memlayer.model_of_vectors")
    schema.run("drop function memlayer.filter_path")
    schema.run("drop function memlayer.filter_comparison")
    schema.run("drop function memlayer.lock_sessions")
