"""Housekeeping, re-embedding, moving in."""

from memlayer_pg import schema

revision = "ml0003"
down_revision = "ml0002"
branch_labels = None
depends_on = None

# Run again as they stand at this revision.
FILES: dict[str, str] = {
    "tables/other_vector.sql": "9ae080e58431",
    "scope/lock_sessions.sql": "f06ea83874ea",
    "filter/filter_fold.sql": "a8a9bb96a60d",
    "filter/filter_merged.sql": "2519c158260b",
    "filter/filter_group.sql": "4b32a82e58a5",
    "model/require_model.sql": "7899e3f1eaf4",
    "model/require_active.sql": "bbc74c467d9a",
    "model/vector_basis.sql": "d32e2d16c3fb",
    "model/hold_model.sql": "3968cb219d39",
    "model/model_of_vectors.sql": "91051e203843",
    "model/exchange_vectors.sql": "c54f880f9673",
    "memory/require_retention.sql": "6e76216a7b64",
    "memory/derive_memory.sql": "03ab824610f7",
    "memory/replay.sql": "d83377e50343",
    "memory/sessions_beside.sql": "75224aa9dc59",
    "memory/put_back.sql": "beb1dc5104d3",
    "search/entity_leg.sql": "d018f4695be8",
    "search/exact_legs.sql": "a57c45e81f08",
    "search/large_legs.sql": "669563425f61",
    "search/search_statement.sql": "236ea8c34ba5",
    "search/compiled.sql": "1e8a789cc596",
    "api/search.sql": "d9c86eebea0b",
    "api/explain_search.sql": "45ceb2b87337",
    "api/update.sql": "16bdad4c8976",
    "api/import_memories.sql": "9fba756c4957",
    "api/import_messages.sql": "110366b2605f",
    "api/export_history.sql": "f1873b7679b4",
    "api/restore.sql": "ec33caf20968",
    "api/undo.sql": "e52c0ce483e6",
    "api/belongs_to.sql": "bbd97f4ce2d5",
    "api/metadata_values.sql": "17117c834d24",
    "api/reembed_plan.sql": "54e4484f229f",
    "api/reembed_begin.sql": "5e7bf5193374",
    "api/reembed_page.sql": "8e02c2e8e7c1",
    "api/reembed_store.sql": "43c3210e20be",
    "api/reembed_close.sql": "4b776db13886",
    "api/reembed_cut_over.sql": "b12d9b300650",
    "api/reembed_cancel.sql": "d3117062aa8b",
    "api/reembed_finish.sql": "0874a2cf788a",
    "api/reset.sql": "60ee9caa450c",
    "api/erase.sql": "bba2dd64d7c6",
    "api/prune_history.sql": "28761d2826da",
    "api/vacuum_expired.sql": "c7f885eda5f0",
    "api/prune_messages.sql": "b84a3b94f495",
    "api/prune_changes.sql": "f596aa051646",
    "api/verify.sql": "f394a9100c13",
    "roles/policies.sql": "f2132b991620",
    "roles/grants.sql": "eb68c5015b4a",
}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {
    "tables/model.sql": "6544d90e8fca",
    "tables/session.sql": "acc0615457d7",
    "tables/memory.sql": "603b8baa32e9",
    "tables/former_link.sql": "4db23a8a4c7c",
}

# Not there any more.
REMOVED: list[str] = []


def upgrade() -> None:
    # Before anything that keeps readers out: a large table takes its time.
    schema.alter(
        "create index memory_expires_idx on memlayer.memory (tenant, expires_on, id) "
        "where expires_on is not null",
        "create index former_link_memory_idx on memlayer.former_link (tenant, memory_id)",
        at=revision,
    )
    schema.alter(
        "alter table memlayer.model add column replaced_by bigint, "
        "add column replaces bigint, add column closing xid8",
        at=revision,
    )
    schema.run("drop function memlayer.import_memories")
    schema.alter(
        "comment on column memlayer.model.replaced_by is 'Of the active model: the next "
        "one, while memories are re-embedded. Who stores vectors then holds "
        "memlayer.hold_model.'",
        "comment on column memlayer.model.replaces is 'Of the active model: the one "
        "before, while its vectors are kept in other_vector; memlayer.reembed_finish "
        "drops them.'",
        "comment on column memlayer.model.closing is 'Of the active model: the "
        "transaction of the first try to cut over. Those before it may not know of "
        "replaced_by and are waited for.'",
        "comment on column memlayer.session.last_seq is 'Sequence number of the newest "
        "message; 0 when there is none.'",
        "comment on index memlayer.memory_expires_idx is 'What has expired.'",
        "comment on index memlayer.former_link_memory_idx is 'What a memory referred to: "
        "its restore looks for it.'",
        at=revision,
    )
    schema.apply(FILES, at=revision)
    schema.record(revision)


def downgrade() -> None:
    schema.forget(revision)
    schema.run("drop function memlayer.import_memories")
    schema.alter(
        "comment on column memlayer.session.last_seq is 'Sequence number of the newest "
        "message ever buffered.'",
        at=down_revision,
    )
    schema.restore([*FILES, *REMOVED], at=down_revision)
    schema.run("drop function memlayer.prune_changes")
    schema.run("drop function memlayer.prune_messages")
    schema.run("drop function memlayer.vacuum_expired")
    schema.run("drop function memlayer.reembed_finish")
    schema.run("drop function memlayer.reembed_cancel")
    schema.run("drop function memlayer.reembed_cut_over")
    schema.run("drop function memlayer.reembed_close")
    schema.run("drop function memlayer.reembed_store")
    schema.run("drop function memlayer.reembed_page")
    schema.run("drop function memlayer.reembed_begin")
    schema.run("drop function memlayer.reembed_plan")
    schema.run("drop function memlayer.metadata_values")
    schema.run("drop function memlayer.belongs_to")
    schema.run("drop function memlayer.export_history")
    schema.run("drop function memlayer.import_messages")
    schema.run("drop function memlayer.sessions_beside")
    schema.run("drop function memlayer.require_retention")
    schema.run("drop function memlayer.exchange_vectors")
    schema.run("drop function memlayer.hold_model")
    schema.run("drop function memlayer.vector_basis")
    schema.run("drop function memlayer.require_active")
    schema.run("drop function memlayer.filter_merged")
    schema.run("drop index memlayer.former_link_memory_idx")
    schema.run("drop index memlayer.memory_expires_idx")
    schema.run("drop table memlayer.other_vector")
    # What was being filled is not known any more.
    schema.alter(
        "update memlayer.model set state = 'retired' where state = 'next'",
        "alter table memlayer.model drop column replaced_by, drop column replaces, "
        "drop column closing",
        at=down_revision,
    )
