"""The commands that remember, find, change and forget."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.cli.running import ID, Shell, on_a_terminal
from tests.endpoint import Endpoint

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_what_is_added_is_found(shell: Shell) -> None:
    ran = shell.well("add", "Ann drinks oolong tea", "--user", "ann", "--no-infer")
    assert "Ann drinks oolong tea" in ran.out
    [memory_id] = ID.findall(ran.out)
    found = shell.well("search", "what tea?", "--user", "ann", "--json").json["results"]
    assert [hit["id"] for hit in found] == [memory_id]
    assert "Ann drinks oolong tea" in shell.well("search", "what tea?", "--user", "ann").out


def test_text_may_come_from_stdin(shell: Shell) -> None:
    ran = shell.well("add", "-", "--user", "ann", "--no-infer", "--json", stdin="from a pipe\n")
    assert ran.json["results"][0]["memory"] == "from a pipe"


def test_a_missing_language_model_is_said_where_facts_were_asked_for(shell: Shell) -> None:
    assert "warning: no language model" in shell.well("add", "tea", "--user", "ann").err
    assert shell.well("add", "tea", "--user", "ann", "--no-infer").err == ""
    assert shell.well("search", "tea", "--user", "ann").err == ""


def test_an_add_takes_metadata_expiry_and_time(shell: Shell) -> None:
    memory_id = shell.add(
        *("tea", "--agent", "bot", "--run", "r1", "--metadata", '{"topic": "drink"}'),
        *("--expires", "2199-12-31", "--timestamp", "2025-01-02T03:04:05Z"),
    )
    found = shell.well("get", memory_id, "--json").json
    assert found["metadata"] == {"topic": "drink"}
    assert found["expiration_date"] == "2199-12-31"
    assert (found["user_id"], found["agent_id"], found["run_id"]) == ("ann", "bot", "r1")
    said = shell.well("messages", "--user", "ann", "--agent", "bot", "--run", "r1", "--json").json
    assert [message["created_at"] for message in said] == ["2025-01-02T03:04:05+00:00"]


def test_a_search_keeps_to_its_scope_and_filter(shell: Shell) -> None:
    shell.add("tea in the morning", "--metadata", '{"topic": "drink"}')
    shell.add("tea ceremony in Kyoto", "--metadata", '{"topic": "travel"}')
    ran = shell.well("search", "tea", "--user", "ann", "--filter", '{"topic": "travel"}', "--json")
    assert [hit["memory"] for hit in ran.json["results"]] == ["tea ceremony in Kyoto"]
    assert shell.well("search", "tea", "--user", "bob").out == "Nothing was found.\n"
    by_filter = shell.well("search", "tea", "--filter", '{"user_id": "ann"}', "--json").json
    assert len(by_filter["results"]) == 2


def test_a_filter_that_is_not_understood_ends_with_2(shell: Shell) -> None:
    ran = shell("search", "tea", "--user", "ann", "--filter", '{"topic": {"near": 1}}')
    assert ran.code == 2
    assert "near" in ran.err
    assert "Traceback" not in ran.err


def test_explain_shows_parts_that_sum_to_the_score(shell: Shell) -> None:
    shell.add("Ann drinks oolong tea")
    ran = shell.well("search", "oolong", "--user", "ann", "--explain")
    assert "meaning" in ran.out
    assert "█" not in ran.out
    [hit] = shell.well("search", "oolong", "--user", "ann", "--explain", "--json").json["results"]
    parts = hit["score_details"]
    assert parts["final_score"] == hit["score"]


def test_the_parts_of_a_score_are_named_for_what_they_are(shell: Shell) -> None:
    for n in range(8):
        shell.add(f"Ann drinks tea number {n}")
    search = ("search", "tea", "--user", "ann", "--explain")
    assert "meaning (cosine, less what unrelated texts have)" in shell.well(*search).out
    additive = shell.well(*search, "--fusion", "additive").out
    assert "meaning (cosine)" in additive
    assert "recency" not in additive
    recent = (*search, "--recency-half-life", "30")
    assert "0.500 recency" in shell.well(*recent).out
    assert "recency (age)" in shell.well(*recent).out
    for hit in shell.well(*recent, "--json").json["results"]:
        assert hit["score_details"]["recency"] == pytest.approx(0.5, abs=0.01)


def test_what_was_superseded_is_marked_and_can_be_left_out(
    shell: Shell, endpoint: Endpoint
) -> None:
    env = {"MEMLAYER_LLM_BASE_URL": endpoint.base_url, "MEMLAYER_LLM_MODEL": "talker"}
    endpoint.facts("Ann lives in Beijing")
    shell.well("add", "I live in Beijing", "--user", "ann", **env)
    endpoint.facts({"text": "Ann lives in Shanghai", "links": [{"id": 0, "kind": "updates"}]})
    shell.well("add", "I moved to Shanghai", "--user", "ann", **env)
    search = ("search", "Ann lives in Beijing", "--user", "ann")
    new, old = shell.well(*search, "--json").json["results"]
    assert (new["memory"], old["superseded_by"]) == ("Ann lives in Shanghai", new["id"])
    for args in (search, (*search, "--explain"), ("list", "--user", "ann")):
        shown = shell.well(*args).out
        assert shown.count("(superseded) Ann lives in Beijing") == 1
        assert f"superseded by {new['id']}" in " ".join(shown.split())
    assert "superseded (a newer memory replaced it)" in shell.well(*search, "--explain").out
    left = shell.well(*search, "--no-superseded", "--json").json["results"]
    assert [hit["id"] for hit in left] == [new["id"]]


def test_a_moment_is_read_as_it_was(shell: Shell) -> None:
    memory_id = shell.add("Ann drinks oolong tea")
    then = shell.well("get", memory_id, "--json").json["updated_at"]
    shell.well("update", memory_id, "Ann drinks coffee")
    search = ("search", "what does Ann drink?", "--user", "ann")
    for command in (search, ("list", "--user", "ann")):
        [now] = shell.well(*command, "--json").json["results"]
        [past] = shell.well(*command, "--as-of", then, "--json").json["results"]
        assert (past["memory"], now["memory"]) == ("Ann drinks oolong tea", "Ann drinks coffee")
        wrong = shell(*command, "--as-of", "Tuesday")
        assert (wrong.code, "as_of" in wrong.err) == (2, True)
    assert "as its history has it" in shell.well(*search, "--as-of", then, "--plan").out
    assert shell(*search, "--as-of", then, "--keyword").code == 2


def test_a_plan_says_how_it_is_searched(shell: Shell) -> None:
    shell.add("Ann drinks oolong tea with Bob")
    shell.add("Ann plays the cello")
    search = ("search", "What does Bob drink?", "--user", "ann", "--plan")
    told = shell.well(*search, "--json").json
    assert told["path"] == "exact"
    legs = told["legs"]
    assert (legs["nearest"], legs["wordiest"], legs["found"]) == (2, 1, 2)
    assert told["plan"][0]["Execution Time"] > 0
    assert told["prepared_ms"] > 0
    assert "memlayer.memory" in told["statement"]
    shown = shell.well(*search).out
    assert "every memory of the scope is read" in shown
    assert f"2 by meaning, 1 by words, {legs['named']} by names, 2 in all" in shown
    by_words = shell.well(
        *search, "--keyword", "--json", MEMLAYER_EMBEDDER_BASE_URL="http://127.0.0.1:1/v1"
    )
    assert by_words.json["legs"]["nearest"] == 0


def test_a_reranker_has_the_last_word(shell: Shell, endpoint: Endpoint) -> None:
    shell.add("oolong tea")
    shell.add("a tea house")
    endpoint.reply("[0.25, 0.75]")
    search = ("search", "oolong tea", "--user", "ann", "--rerank")
    env = {"MEMLAYER_RERANKER_BASE_URL": endpoint.base_url}
    found = shell.well(*search, "--json", **env).json["results"]
    assert [hit["memory"] for hit in found] == ["a tea house", "oolong tea"]
    assert "reranked 0.75" in " ".join(shell.well(*search, **env).out.split())
    assert "no reranker is configured" in shell.well(*search).err


def test_a_keyword_search_asks_no_model(shell: Shell) -> None:
    shell.add("Ann drinks oolong tea")
    ran = shell.well(
        *("search", "oolong", "--user", "ann", "--keyword", "--json"),
        MEMLAYER_EMBEDDER_BASE_URL="http://127.0.0.1:1/v1",
    )
    assert [hit["memory"] for hit in ran.json["results"]] == ["Ann drinks oolong tea"]


def test_expired_memories_are_shown_when_asked_for(shell: Shell) -> None:
    shell.add("tea", "--expires", "2020-01-01")
    assert shell.well("search", "tea", "--user", "ann", "--json").json["results"] == []
    assert shell.well("list", "--user", "ann").out == "There are no memories.\n"
    for args in (["search", "tea"], ["list"]):
        ran = shell.well(*args, "--user", "ann", "--show-expired", "--json")
        assert [hit["memory"] for hit in ran.json["results"]] == ["tea"]


def test_a_list_goes_on_where_its_page_ended(shell: Shell) -> None:
    for text in ("one", "two", "three"):
        shell.add(text)
    first = shell.well("list", "--user", "ann", "--top-k", "2", "--total", "--json").json
    assert first["total"] == 3
    rest = shell.well("list", "--user", "ann", "--after", first["next"], "--json").json
    texts = [memory["memory"] for memory in first["results"] + rest["results"]]
    assert texts == ["three", "two", "one"]
    shown = shell.well("list", "--user", "ann", "--top-k", "2", "--total").out
    assert "3 in all" in shown
    assert f"--after {first['next']}" in shown


def test_scopes_count_what_everybody_has(shell: Shell) -> None:
    assert shell.well("scopes").out == "There are no memories.\n"
    shell.add("tea", "--run", "r1")
    shell.add("coffee")
    found = {(s["type"], s["id"]): s["total_memories"] for s in shell.well("scopes", "--json").json}
    assert found == {("user", "ann"): 2, ("run", "r1"): 1}
    narrowed = shell.well("scopes", "--run", "r1", "--json").json
    assert {(s["type"], s["total_memories"]) for s in narrowed} == {("user", 1), ("run", 1)}
    assert "ann" in shell.well("scopes").out


def test_tenants_are_kept_apart(shell: Shell) -> None:
    acme = f"{shell.tenant}-acme"
    memory_id = shell.add("tea", "--tenant", acme)
    assert shell("get", memory_id).code == 1
    assert shell.well("--tenant", acme, "get", memory_id, "--json").json["memory"] == "tea"
    assert shell.well("get", memory_id, "--json", MEMLAYER_TENANT=acme).json["memory"] == "tea"


def test_an_update_changes_what_it_names_and_no_more(shell: Shell) -> None:
    memory_id = shell.add("tea", "--metadata", '{"a": 1, "b": 2}', "--expires", "2199-01-01")
    shell.well("update", memory_id, "green tea")
    shell.well("update", memory_id, "--metadata", '{"b": 3}')
    found = shell.well("get", memory_id, "--json").json
    assert (found["memory"], found["metadata"]) == ("green tea", {"a": 1, "b": 3})
    assert found["expiration_date"] == "2199-01-01"
    shell.well("update", memory_id, "--no-expiry")
    assert "expiration_date" not in shell.well("get", memory_id, "--json").json
    shell.well("update", memory_id, "-", stdin="white tea\n")
    assert shell.well("get", memory_id, "--json").json["memory"] == "white tea"


def test_a_history_shows_the_words_that_changed(shell: Shell) -> None:
    memory_id = shell.add("Ann drinks black tea")
    shell.well("update", memory_id, "Ann drinks green tea")
    shell.well("update", memory_id, "--metadata", '{"sure": true}')
    shell.well("delete", memory_id)
    shown = shell.well("history", memory_id).out
    assert "Ann drinks [-black-]{+green+} tea" in shown
    assert "the words are the same" in shown
    assert "[-Ann drinks green tea-]" in shown
    events = shell.well("history", memory_id, "--json").json
    assert [event["event"] for event in events] == ["ADD", "UPDATE", "UPDATE", "DELETE"]
    assert [event["version"] for event in events] == [1, 2, 3, 4]


def test_a_history_says_who_wrote_around_the_api(shell: Shell) -> None:
    memory_id = shell.add("tea")
    with psycopg.connect(shell.dsn, application_name="by hand") as conn:
        conn.execute(
            "update memlayer.memory set metadata = '{\"x\": 1}' where id = %s", [memory_id]
        )
    assert "by hand" in shell.well("history", memory_id).out


@pytest.mark.parametrize(
    "args", [["get"], ["history"], ["delete"], ["update", "--metadata", "{}"], ["update", "tea"]]
)
@pytest.mark.parametrize("memory_id", [UNKNOWN, "no-id"])
def test_an_id_nobody_has_ends_with_1(shell: Shell, args: list[str], memory_id: str) -> None:
    command, *rest = args
    ran = shell(command, memory_id, *rest)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert memory_id in ran.err


def test_a_deleted_memory_is_gone(shell: Shell) -> None:
    memory_id = shell.add("tea")
    shell.well("delete", memory_id)
    ran = shell("get", memory_id)
    assert ran.code == 1
    assert f"hint: memlayer history {memory_id}" in ran.err


def test_delete_all_forgets_a_scope(shell: Shell) -> None:
    shell.add("tea", "--metadata", '{"topic": "drink"}')
    kept = shell.add("Kyoto")
    shell.well("delete-all", "--user", "ann", "--filter", '{"topic": "drink"}', "--yes")
    left = shell.well("list", "--user", "ann", "--json").json["results"]
    assert [memory["id"] for memory in left] == [kept]
    assert "message" in shell.well("delete-all", "--user", "ann", "-y", "--json").json
    assert shell.well("list", "--user", "ann", "--json").json["results"] == []


@pytest.mark.parametrize("args", [["delete-all", "--user", "ann"], ["reset"]], ids=lambda a: a[0])
def test_forgetting_many_has_to_be_confirmed(shell: Shell, args: list[str]) -> None:
    shell.add("tea")
    unasked = shell(*args, stdin="y\n")
    assert unasked.code == 2
    assert "hint: add --yes" in unasked.err

    code, shown = on_a_terminal(*args, typed="n\n", **shell.env)
    assert code == 1
    assert "Forget" in shown
    assert len(shell.well("list", "--user", "ann", "--json").json["results"]) == 1

    code, shown = on_a_terminal(*args, typed="y\n", **shell.env)
    assert code == 0
    assert shell.well("list", "--user", "ann", "--json").json["results"] == []


def test_reset_forgets_one_tenant_and_its_history(shell: Shell) -> None:
    gone = shell.add("tea")
    other = f"{shell.tenant}-other"
    kept = shell.add("tea", "--tenant", other)
    shell.well("reset", "--yes")
    assert shell("history", gone).code == 1
    assert shell.well("get", kept, "--tenant", other, "--json").json["memory"] == "tea"


def test_messages_are_those_of_exactly_these_ids(shell: Shell) -> None:
    shell.add("for ann")
    shell.add("for ann in r1", "--run", "r1")
    said = shell.well("messages", "--user", "ann", "--json").json
    assert [message["content"] for message in said] == ["for ann"]
    assert "for ann" in shell.well("messages", "--user", "ann").out
    assert "no messages" in shell.well("messages", "--user", "bob").out


def test_what_people_said_cannot_draw_on_the_terminal(shell: Shell) -> None:
    memory_id = shell.add("[red]tea[/red] \x1b[2Jcleared :smile:")
    for args in (
        ["search", "tea", "--user", "ann"],
        ["list", "--user", "ann"],
        ["get", memory_id],
        ["history", memory_id],
        ["messages", "--user", "ann"],
    ):
        shown = shell.well(*args).out
        assert "[red]tea[/red] ␛[2Jcleared :smile:" in shown
        assert "\x1b" not in shown


def test_json_keeps_chinese_as_it_is(shell: Shell) -> None:
    memory_id = shell.add("雅婷喝乌龙茶")
    ran = shell.well("get", memory_id, "--json")
    assert "雅婷喝乌龙茶" in ran.out
    assert ran.out == json.dumps(ran.json, ensure_ascii=False, indent=2) + "\n"


def test_tables_are_as_wide_as_asked(shell: Shell) -> None:
    shell.add("雅婷每天早上在里斯本的窗边喝两杯台湾乌龙茶。" * 6)
    for columns in (40, 80, 100):
        shown = shell.well("list", "--user", "ann", COLUMNS=str(columns)).out
        # a Chinese letter takes two columns
        widths = [sum(1 + (ord(letter) > 0x2E80) for letter in line) for line in shown.splitlines()]
        assert max(widths) <= columns
        assert "".join(shown.split()).count("乌龙茶") == 6


@pytest.mark.parametrize("command", ["update", "delete", "delete-all", "reset"])
def test_every_change_answers_in_json(shell: Shell, command: str) -> None:
    for before in (True, False):
        rest = {
            "update": lambda: [shell.add("tea"), "green tea"],
            "delete": lambda: [shell.add("tea")],
            "delete-all": lambda: ["--user", "ann", "--yes"],
            "reset": lambda: ["--yes"],
        }[command]()
        args = ["--json", command, *rest] if before else [command, *rest, "--json"]
        assert list(shell.well(*args).json) == ["message"]


def test_a_memory_is_restored_to_a_version_or_a_moment_and_after_its_deletion(shell: Shell) -> None:
    memory_id = shell.add("two cups of coffee")
    shell.well("update", memory_id, "oolong tea")
    ran = shell.well("restore", memory_id, "--version", "1", "--actor", "desk")
    assert ran.out == "two cups of coffee\nas it was, at version 3\n"
    assert shell.well("restore", memory_id, "--version", "1").out.endswith(
        "it was so already, at version 3\n"
    )
    [event] = [
        item for item in shell.well("history", memory_id, "--json").json if item["version"] == 2
    ]
    found = shell.well("restore", memory_id, "--as-of", event["updated_at"], "--json").json
    assert (found["memory"], found["event"], found["version"]) == ("oolong tea", "UPDATE", 4)
    shell.well("delete", memory_id)
    assert shell.well("restore", memory_id).out == "oolong tea\nstands again, at version 6\n"
    for args, code in (
        ([], 2),
        (["--version", "1", "--as-of", "2020-01-01"], 2),
        (["--as-of", "yesterday"], 2),
        (["--version", "9"], 1),
        (["--as-of", "2020-01-01"], 1),
    ):
        ran = shell("restore", memory_id, *args)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith("error: ")
    assert shell("restore", UNKNOWN).code == 1


def test_changes_are_listed_and_undone(shell: Shell) -> None:
    assert shell.well("changes").out == "There are no changes.\n"
    first, second = shell.add("tea"), shell.add("coffee", "--agent", "bot")
    shell.well("delete-all", "--user", "ann", "--yes")
    found = shell.well("changes", "--user", "ann", "--json").json["results"]
    assert [item["operation"] for item in found] == ["delete_all", "add", "add"]
    page = shell.well("changes", "--top-k", "2")
    assert found[0]["id"] in page.out
    assert "--after " in page.out
    after = page.out.split("--after ")[1].strip()
    assert found[2]["id"] in shell.well("changes", "--after", after).out
    ran = shell.well("undo", found[0]["id"], "--actor", "desk")
    assert ran.out.count("stands again") == 2
    assert first in ran.out
    newest = shell.well("changes", "--json").json["results"][0]
    assert (newest["undoes"], newest["actor"], newest["added"]) == (found[0]["id"], "desk", 2)
    assert "undoes" in shell.well("changes").out
    shell.well("update", second, "green tea")
    ran = shell("undo", newest["id"], "--json")
    assert (ran.code, sorted(item["outcome"] for item in ran.json["results"])) == (
        1, ["changed since", "undone"],
    )  # fmt: skip
    assert "1 memory changed since" in ran.err
    shell.well("undo", newest["id"], "--force")
    assert shell.well("list", "--user", "ann").out == "There are no memories.\n"
    assert shell("undo", "not-an-id").code == 1


def test_an_erasure_asks_and_leaves_a_receipt(alone: Shell) -> None:
    memory_id = alone.add("oolong")
    assert alone("erase", "--user", "ann").code == 2
    assert alone("erase", "--yes").code == 2
    assert alone.well("history", memory_id, "--json").json
    receipt = alone.well("erase", "--user", "ann", "--yes", "--json", "--actor", "desk").json
    assert (receipt["memories"], receipt["actor"]) == (1, "desk")
    assert "there never was" in alone("history", memory_id).err
    told = alone.well("erase", "--user", "ann", "--yes").out
    assert "memories 0" in told
    assert receipt["scope_digest"] in told


def test_what_is_no_longer_needed_is_counted_and_deleted(alone: Shell) -> None:
    memory_id = alone.add("tea")
    alone.well("update", memory_id, "--expires", "2020-01-01")
    assert alone.well("db", "vacuum-expired", "--dry-run", "--json").json["removed"] == 1
    assert alone.well("db", "vacuum-expired", "--expired-for", "90y").out.startswith("0 ")
    assert (
        alone.well("db", "vacuum-expired", "--actor", "cron").out == "1 expired memories deleted\n"
    )
    done = alone.well("changes", "--json").json["results"][0]
    assert (done["operation"], done["actor"]) == ("vacuum_expired", "cron")
    assert alone.well("db", "prune-messages", "--keep", "0d", "--json").json["removed"] == 1
    assert alone.well("db", "prune-changes", "--keep", "0d").out.startswith("0 ")
    alone.well("db", "prune-history", "--keep", "0d")
    assert alone.well("db", "prune-changes", "--keep", "0d").out.startswith("4 ")
    assert alone("db", "prune-changes").code == 2
    assert "contradicts" in alone.well("verify").out


@pytest.mark.parametrize(
    "command", ["vacuum-expired", "prune-history", "prune-messages", "prune-changes"]
)
def test_a_span_of_time_needs_a_unit_that_cannot_be_mistaken(alone: Shell, command: str) -> None:
    option = "--expired-for" if command == "vacuum-expired" else "--keep"
    # Postgres would read the first as seconds, the second as minutes, and delete nearly everything.
    for slip in ("90", "6M", "long", "", "-3d", "1d 5", "3daysago"):
        refused = alone("db", command, f"{option}={slip}", "--dry-run")
        assert refused.code == 2, slip
        assert "a number with its unit, such as 90d" in refused.err
    for span in ("0", "90d", "3 months", "1y 2mon", "2 Weeks", "12h", "30 min"):
        alone.well("db", command, option, span, "--dry-run")


def test_sizes_lists_tables_and_their_indexes(alone: Shell) -> None:
    alone.add("tea")
    found = {row["name"]: row for row in alone.well("db", "sizes", "--json").json}
    assert found["memory"]["bytes"] > 0
    assert found["memory_pkey"]["of_table"] == "memory"
    assert found["memory_pkey"]["scans"] > 0
    assert "memory_document_idx" in alone.well("db", "sizes").out


def test_history_is_pruned_after_it_was_counted(alone: Shell) -> None:
    memory_id = alone.add("tea")
    alone.well("update", memory_id, "coffee")
    assert alone("db", "prune-history").code != 0
    assert alone("db", "prune-history", "--keep", "long").code != 0
    assert (
        alone.well("db", "prune-history", "--keep", "0d", "--dry-run", "--json").json["removed"]
        == 1
    )
    assert len(alone.well("history", memory_id, "--json").json) == 2
    assert "1 rows" in alone.well("db", "prune-history", "--keep", "0d").out
    assert [e["event"] for e in alone.well("history", memory_id, "--json").json] == ["BASELINE"]
    assert "contradicts" in alone.well("verify").out


def test_a_change_of_a_stale_version_is_refused_and_the_actor_is_kept(alone: Shell) -> None:
    memory_id = alone.add("Ann drinks tea", "--actor", "clerk 1")
    update = ("update", memory_id, "Ann drinks oolong tea", "--actor", "clerk 2")
    for command in (
        (*update, "--expected-version", "2"),
        ("delete", memory_id, "--expected-version", "2"),
        ("restore", memory_id, "--version", "1", "--expected-version", "2"),
    ):
        ran = alone(*command)
        assert ran.code == 1
        assert "at version 1, not 2" in ran.err
    alone.well(*update, "--expected-version", "1")
    restore = ("restore", memory_id, "--version", "1", "--expected-version", "2")
    alone.well(*restore, "--actor", "clerk 3")
    alone.well("delete", memory_id, "--expected-version", "3", "--actor", "clerk 4")
    alone.well("restore", memory_id, "--actor", "clerk 5")
    alone.well("delete-all", "--user", "ann", "--yes", "--actor", "clerk 6")
    entries = alone.well("history", memory_id, "--json").json
    assert [entry["actor"] for entry in entries] == [f"clerk {n}" for n in range(1, 7)]
    done = alone.well("changes", "--user", "ann", "--json").json["results"]
    assert [change["actor"] for change in done] == [f"clerk {n}" for n in range(6, 0, -1)]
    assert alone("update", memory_id, "x", "--expected-version", "0").code == 2
