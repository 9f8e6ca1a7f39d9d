"""Housekeeping."""

from memlayer_pg import schema

revision = "ml0003"
down_revision = "ml0002"
branch_labels = None
depends_on = None

# Run again as they stand at this revision.
FILES: dict[str, str] = {
    "filter/filter_merged.sql": "2519c158260b",
    "filter/filter_group.sql": "4b32a82e58a5",
    "memory/require_retention.sql": "6e76216a7b64",
    "memory/derive_memory.sql": "b1fac7212f31",
    "memory/put_back.sql": "e51aea99eb92",
    "search/entity_leg.sql": "d018f4695be8",
    "search/exact_legs.sql": "a57c45e81f08",
    "search/large_legs.sql": "669563425f61",
    "search/search_statement.sql": "236ea8c34ba5",
    "search/compiled.sql": "1e8a789cc596",
    "api/import_memories.sql": "9fba756c4957",
    "api/import_messages.sql": "110366b2605f",
    "api/export_history.sql": "f1873b7679b4",
    "api/belongs_to.sql": "bbd97f4ce2d5",
    "api/metadata_values.sql": "17117c834d24",
    "api/reset.sql": "e0cd110c644b",
    "api/erase.sql": "d8e45cb741fa",
    "api/prune_history.sql": "3f1cad9b760a",
    "api/vacuum_expired.sql": "c7f885eda5f0",
    "api/prune_messages.sql": "b84a3b94f495",
    "api/prune_changes.sql": "f596aa051646",
    "api/verify.sql": "a0a35f403b98",
    "roles/policies.sql": "f2132b991620",
    "roles/grants.sql": "4c5514019e96",
}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {
    "tables/session.sql": "acc0615457d7",
    "tables/memory.sql": "603b8baa32e9",
    "tables/former_link.sql": "4db23a8a4c7c",
}

# Not there any more.
REMOVED: list[str] = []


def upgrade() -> None:
    schema.run("drop function memlayer.import_memories")
    schema.alter(
        "comment on column memlayer.session.last_seq is 'Sequence number of the newest "
        "message; 0 when there is none.'",
        "create index memory_expires_idx on memlayer.memory (tenant, expires_on, id) "
        "where expires_on is not null",
        "comment on index memlayer.memory_expires_idx is 'What has expired.'",
        "create index former_link_memory_idx on memlayer.former_link (tenant, memory_id)",
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
    schema.run("drop function memlayer.metadata_values")
    schema.run("drop function memlayer.belongs_to")
    schema.run("drop function memlayer.export_history")
    schema.run("drop function memlayer.import_messages")
    schema.run("drop function memlayer.require_retention")
    schema.run("drop function memlayer.filter_merged")
    schema.run("drop index memlayer.former_link_memory_idx")
    schema.run("drop index memlayer.memory_expires_idx")
