-- Everything memlayer-pg keeps in Postgres, in load order: each file needs only those above it.
-- Into an empty database: psql -v ON_ERROR_STOP=1 --single-transaction -f sql/all.sql

\ir schema/memlayer.sql
\ir schema/search_path.sql
\ir schema/deployment.sql
\ir schema/now.sql

-- Words
\ir keyword/bare.sql
\ir keyword/lower_case.sql
\ir keyword/stems.sql
\ir keyword/lexemes.sql
\ir keyword/quote_lexeme.sql
\ir keyword/full_document.sql
\ir keyword/document.sql
\ir keyword/document_length.sql
\ir keyword/fold.sql
\ir keyword/phrase.sql
\ir keyword/keyword_query.sql

-- Tables
\ir tables/setting.sql
\ir tables/model.sql
\ir tables/session.sql
\ir tables/message.sql
\ir tables/change.sql
\ir tables/memory.sql
\ir tables/link.sql
\ir tables/entity.sql
\ir tables/mention.sql
\ir tables/history.sql
\ir tables/scope_statistic.sql
\ir tables/term_statistic.sql
\ir schema/handshake.sql

-- Scopes and filters
\ir scope/require_scope.sql
\ir scope/scope_predicate.sql
\ir scope/today.sql
\ir scope/lock_session.sql
\ir filter/filter_kind.sql
\ir filter/filter_check.sql
\ir filter/filter_column.sql
\ir filter/filter_exists.sql
\ir filter/filter_fold.sql
\ir filter/filter_jsonpath.sql
\ir filter/filter_metadata_contains.sql
\ir filter/filter_metadata_in.sql
\ir filter/filter_iso.sql
\ir filter/filter_metadata_order.sql
\ir filter/filter_paths.sql
\ir filter/filter_sign.sql
\ir filter/filter_metadata.sql
\ir filter/filter_text.sql
\ir filter/filter_time_value.sql
\ir filter/filter_time.sql
\ir filter/filter_operator.sql
\ir filter/filter_present.sql
\ir filter/filter_key.sql
\ir filter/filter_tree.sql
\ir filter/filter_group.sql
\ir filter/filter_predicate.sql

-- Derived columns and history
\ir model/require_model.sql
\ir model/require_direction.sql
\ir model/active_model.sql
\ir model/readable_model.sql
\ir model/calibration.sql
\ir model/calibrate.sql
\ir memory/text_search_config.sql
\ir memory/require_storable.sql
\ir memory/require_dates.sql
\ir memory/require_vectors.sql
\ir memory/free_dedup_key.sql
\ir memory/memory_state.sql
\ir memory/derive_memory.sql
\ir history/record_history.sql
\ir history/refuse_truncate.sql
\ir history/triggers.sql
\ir memory/forget_context.sql

-- Language
\ir setting/set_language.sql
\ir setting/rebuild_documents.sql

-- Writing
\ir entity/drop_orphans.sql
\ir entity/orphan_trigger.sql
\ir entity/store_entities.sql
\ir memory/require_add.sql
\ir memory/surviving.sql
\ir memory/replay.sql
\ir memory/buffer_messages.sql
\ir memory/lock_memory.sql

-- Searching
\ir search/require_top_k.sql
\ir search/fusion.sql
\ir search/fusion_k1.sql
\ir search/visible_predicate.sql
\ir search/cursor_after.sql
\ir search/cursor_position.sql
\ir search/stands_in.sql
\ir search/possible_names.sql
\ir search/any_term.sql
\ir search/bm25_sigmoid.sql
\ir search/entity_boost.sql
\ir search/exact_threshold.sql
\ir search/has_at_most.sql
\ir search/ann_index.sql
\ir search/ann_index_statement.sql
\ir search/nearest_exact.sql
\ir search/nearest.sql
\ir search/rarest_terms.sql
\ir search/keyword_leg.sql
\ir search/entity_leg.sql
\ir search/exact_legs.sql
\ir search/large_legs.sql
\ir search/superseded_leg.sql
\ir search/search_statement.sql
\ir search/compiled.sql
\ir search/prepare_search.sql

-- The API: what programs call, and psql may too
\ir api/add.sql
\ir api/messages.sql
\ir api/recall_context.sql
\ir api/search.sql
\ir api/explain_search.sql
\ir api/keyword_search.sql
\ir api/similar_to.sql
\ir api/get.sql
\ir api/get_all.sql
\ir api/update.sql
\ir api/pending.sql
\ir api/delete.sql
\ir api/delete_all.sql
\ir api/history.sql
\ir api/scopes.sql
\ir api/refresh_statistics.sql
\ir api/create_ann_index.sql
\ir api/recall_check.sql
\ir api/reset.sql
\ir api/verify.sql
