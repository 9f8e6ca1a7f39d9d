"""Whoever dies while memories are re-embedded: it goes on where it was, a batch is paid again."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import Config, EmbeddingMismatch, Memory, reembedding
from tests.api.harness import model
from tests.api.proxy import Proxy
from tests.api.test_kill import STARTER, WHEN
from tests.api.test_reading import ANN

BATCH = 2
TEXTS = ["tea", "milk", "I play the cello with Eve"]
CALLED = {f"reembed_{name}" for name in ("plan", "begin", "page", "store", "close", "cut_over")}


def in_a_process(config: Config) -> None:
    reembedding.BATCH = BATCH
    with Memory(config) as memory:
        memory.reembed()


@pytest.mark.parametrize("when", WHEN)
def test_a_program_killed_at_any_statement_loses_nothing_and_pays_one_batch_again(
    live: str,
    tenant: str,
    endpoint: Any,
    sql: Any,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reembedding, "BATCH", BATCH)
    killed_at: set[str] = set()
    step, finished = 0, False
    while not finished:
        step += 1
        whose = f"{tenant}-{when}-{step}"

        def config(dsn: str, whose: str = whose, **settings: Any) -> Config:
            named = make_conninfo(dsn, application_name=whose)
            return Config(dsn=named, tenant=whose, embedder=model(endpoint, **settings))

        with Memory(config(live)) as old, Memory(config(live, dimensions=32)) as new:
            for text in TEXTS:
                old.add(text, user_id="ann", infer=False)
            endpoint.requests.clear()
            with Proxy(live) as proxy:
                process = STARTER.Process(
                    target=in_a_process, args=(config(proxy.dsn, dimensions=32),)
                )
                dead = threading.Event()

                def kill(
                    reached: int, process: Any = process, step: int = step, dead: Any = dead
                ) -> None:
                    if reached == step:
                        process.kill()
                        dead.wait(60)

                setattr(proxy, when, kill)
                process.start()
                process.join(60)
                dead.set()
                finished = process.exitcode == 0
                assert finished or process.exitcode == -signal.SIGKILL
                killed_at.update(() if finished else proxy.functions[-1:])
            sql(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                " where application_name = %(whose)s and pid <> pg_backend_pid()",
                whose=whose,
            )
            # The store is of one model, and whoever has it configured is served.
            assert sql("select * from memlayer.verify(%(whose)s)", whose=whose) == []
            served = []
            for memory in (old, new):
                try:
                    served.append(len(memory.search("tea", filters=ANN)["results"]))
                except EmbeddingMismatch:
                    served.append(0)
            assert sorted(served)[0] == 0
            assert sorted(served)[1] > 0
            new.reembed()
            assert new.search("tea", filters=ANN)["results"][0]["memory"] == "tea"
        [counted] = sql(
            "select count(*), count(*) filter (where vector_dims(embedding) = 32)"
            " from memlayer.memory where tenant = %(whose)s",
            whose=whose,
        )
        assert counted == (len(TEXTS), len(TEXTS))
        assert sql("select * from memlayer.verify(%(whose)s)", whose=whose) == []
        requests = [r.json for r in endpoint.requests if r.json.get("dimensions") == 32]
        paid = [text for r in requests for text in r["input"] if len(r["input"]) <= BATCH]
        asked = paid.count("tea")  # of the two searches with the new model at most
        assert len(paid) - asked <= len(TEXTS) + BATCH
    assert killed_at >= CALLED


def test_a_backend_ended_during_the_cut_over_leaves_the_old_model(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    def config(dsn: str, **settings: Any) -> Config:
        named = make_conninfo(dsn, application_name=tenant)
        return Config(dsn=named, tenant=tenant, embedder=model(endpoint, **settings))

    with (
        Memory(config(live)) as old,
        Proxy(live) as proxy,
        Memory(config(proxy.dsn, dimensions=32)) as new,
    ):
        for text in TEXTS:
            old.add(text, user_id="ann", infer=False)
        ended: list[int] = []

        def end(number: int) -> None:
            if "reembed_cut_over" in proxy.functions and not ended:
                ended.append(number)
                sql(
                    "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                    " where application_name = %(tenant)s and pid <> pg_backend_pid()"
                )

        proxy.after = end  # the cut-over is done, and not committed
        with pytest.raises(Exception, match=r"terminat|clos"):
            new.reembed()
        assert ended
        assert len(old.search("tea", filters=ANN)["results"]) > 0
        endpoint.requests.clear()
        assert new.reembed()["cut_over"]
        assert endpoint.embedded == []
    assert sql("select * from memlayer.verify(%(tenant)s)") == []
