"""Baseline."""

from memlayer_pg import schema

revision = "ml0001"
down_revision = None
branch_labels = ("memlayer",)
depends_on = None

# Run again as they stand at this revision.
FILES = {
    "schema/memlayer.sql": "e39afccd64fe",
    "schema/search_path.sql": "adc51a3cd0a6",
    "schema/deployment.sql": "b11fe4a2c9f6",
    "schema/now.sql": "24f0692bd240",
    "keyword/bare.sql": "e97c08d4c8b9",
    "keyword/lower_case.sql": "e0809cf55dce",
    "keyword/stems.sql": "60beb661388c",
    "keyword/lexemes.sql": "a2c2538681a5",
    "keyword/quote_lexeme.sql": "2772727bc041",
    "keyword/full_document.sql": "5f6bf042a05f",
    "keyword/document.sql": "6e11d3c2273b",
    "keyword/document_length.sql": "f9716be1ddc6",
    "keyword/fold.sql": "83fc2a4a385c",
    "keyword/phrase.sql": "6d2411cf1d6c",
    "keyword/keyword_query.sql": "201b6c002fad",
    "tables/setting.sql": "8363f3992bb1",
    "tables/model.sql": "b7fc1a1f5fb3",
    "tables/session.sql": "6e7cbc1ee558",
    "tables/message.sql": "69d9ba37328a",
    "tables/change.sql": "bca0cb9901c7",
    "tables/memory.sql": "5c6631e3dba8",
    "tables/link.sql": "c474720fe41f",
    "tables/entity.sql": "87f81f140234",
    "tables/mention.sql": "0f7b14d7bed3",
    "tables/history.sql": "17dbfe1633e5",
    "schema/handshake.sql": "e9cf67cee5db",
    "scope/require_scope.sql": "cdd1e4fe4b4e",
    "scope/scope_predicate.sql": "66c87011e8c4",
    "scope/today.sql": "339bfb10dd02",
    "scope/lock_session.sql": "c550afe67842",
    "filter/filter_kind.sql": "3d843aa0230e",
    "filter/filter_check.sql": "9922a10f0149",
    "filter/filter_column.sql": "d73d09f459c3",
    "filter/filter_exists.sql": "01a297cc032c",
    "filter/filter_fold.sql": "370da4958b26",
    "filter/filter_jsonpath.sql": "01fb043696c9",
    "filter/filter_metadata_contains.sql": "c23e1390953c",
    "filter/filter_metadata_in.sql": "1f3fb7c386fa",
    "filter/filter_iso.sql": "6fc6ffcbdd48",
    "filter/filter_metadata_order.sql": "c528c248401e",
    "filter/filter_paths.sql": "18f1a4e1828f",
    "filter/filter_sign.sql": "0e455c3be2d3",
    "filter/filter_metadata.sql": "dd11dda4402b",
    "filter/filter_text.sql": "228c60c1f046",
    "filter/filter_time_value.sql": "760c3ac2c7f0",
    "filter/filter_time.sql": "a29b0c57b0f1",
    "filter/filter_operator.sql": "e8f8e60f7aca",
    "filter/filter_present.sql": "b5f8bf347acb",
    "filter/filter_key.sql": "ce469e4662b7",
    "filter/filter_tree.sql": "c78ed5f7d700",
    "filter/filter_group.sql": "c8e078bb81ed",
    "filter/filter_predicate.sql": "69adb7b27f13",
    "model/require_model.sql": "97f0bd286d0d",
    "model/active_model.sql": "9adb1ecdd160",
    "model/readable_model.sql": "01e402aa95eb",
    "model/calibration.sql": "1085a7546abf",
    "model/calibrate.sql": "db05c41cfc35",
    "memory/text_search_config.sql": "a252f41f896f",
    "memory/require_storable.sql": "82be06cef87d",
    "memory/free_dedup_key.sql": "eb9526b40a68",
    "memory/memory_state.sql": "cb4a181df32d",
    "memory/derive_memory.sql": "7f676a633d2a",
    "history/record_history.sql": "ada0ff92b728",
    "history/refuse_truncate.sql": "8347fbef3edd",
    "history/triggers.sql": "f36e8b7ef3ae",
    "entity/drop_orphans.sql": "c9e6f8b7ecc2",
    "entity/orphan_trigger.sql": "4c5fb1886dd8",
    "entity/store_entities.sql": "236843153b9b",
    "memory/require_add.sql": "b4af0c01cd27",
    "memory/surviving.sql": "292421697ecf",
    "memory/replay.sql": "249053d139f0",
    "memory/buffer_messages.sql": "3d0f461ee000",
    "memory/lock_memory.sql": "b20ce5ce65c0",
    "search/require_top_k.sql": "ac6f33b538ed",
    "search/fusion.sql": "5cb767c92f98",
    "search/visible_predicate.sql": "cb50dadc3e5c",
    "search/cursor_after.sql": "a1e657998979",
    "search/cursor_position.sql": "e8b79844fb55",
    "search/stands_in.sql": "ec65fce978e5",
    "search/any_term.sql": "07d1b87a3039",
    "search/bm25_sigmoid.sql": "465f14aafdc1",
    "search/entity_boost.sql": "be65d5bc2eb9",
    "search/search_statement.sql": "ce4e1080084b",
    "api/add.sql": "a86249cd333a",
    "api/messages.sql": "ff25351de16a",
    "api/recall_context.sql": "49d68c74580a",
    "api/search.sql": "0168cf8e2fb8",
    "api/keyword_search.sql": "a6487f095571",
    "api/similar_to.sql": "84fca28b6e99",
    "api/get.sql": "710fe1e5cc30",
    "api/get_all.sql": "a382404ada23",
    "api/update.sql": "cc2c7c7c0abf",
    "api/delete.sql": "bb9c4722d553",
    "api/delete_all.sql": "4130e9138842",
    "api/history.sql": "11aba2c5e6aa",
    "api/scopes.sql": "3337ae57fd5d",
    "api/reset.sql": "a574148b35d6",
    "api/verify.sql": "803643597362",
}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {}


def upgrade() -> None:
    schema.apply(FILES, at=revision)
    schema.record(revision)


def downgrade() -> None:
    schema.clear()
