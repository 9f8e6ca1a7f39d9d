"""A long mixed load with faults: clients of one program, backends that are killed, and a ledger.

Every client works on a user of its own and writes down what was confirmed to it. At the end what
stands in the database has to be that, `verify` finds nothing, and no connection is left over.
"""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks import machine, place
from benchmarks.endpoint import process
from benchmarks.filling import MODEL
from benchmarks.progress import bar
from benchmarks.soak_client import MIX, Calls, Client
from benchmarks.text import Writer
from benchmarks.timing import quantile
from memlayer_pg import Config, Endpoint, Memory

NAME = "memlayer-soak"
"""application_name of the clients: whose backends are killed and counted."""
PARTS = 3
"""The times of the first and the last part are compared."""


@dataclass(frozen=True)
class SoakOptions:
    """`kill_every`, `crash_every`: seconds between backends that are told to end (pg_terminate_
    backend), and between crashes of the whole server (SIGKILL of one backend); 0: never.
    `memories`: about how many each user keeps."""

    minutes: float = 10
    clients: int = 8
    kill_every: float = 2
    crash_every: float = 120
    memories: int = 300
    dimensions: int = 384
    seed: int = 1
    postgres: int | None = None


class Watch:
    """Kills backends and keeps an eye on memory and connections, once a second or oftener."""

    def __init__(self, admin: str, options: SoakOptions) -> None:
        self._admin = admin
        self._options = options
        self._chance = random.Random(options.seed)
        self.killed = self.crashed = 0
        self.memory: list[tuple[float, float]] = []
        self.connections: list[int] = []

    def run(self, begin: float, stop: threading.Event, tick: Callable[[int], None]) -> None:
        kill = crash = begin
        seen = 0
        while not stop.wait(0.2):
            now = time.perf_counter()
            self.memory.append((now - begin, resident()))
            tick(int(now - begin) - seen)
            seen = int(now - begin)
            try:
                with psycopg.connect(self._admin, autocommit=True) as conn:
                    pids = backends(conn)
                    self.connections.append(len(pids))
                    if (
                        pids
                        and self._options.crash_every
                        and now - crash > self._options.crash_every
                    ):
                        crash = now
                        os.kill(self._chance.choice(pids), 9)
                        self.crashed += 1
                    elif (
                        pids and self._options.kill_every and now - kill > self._options.kill_every
                    ):
                        kill = now
                        conn.execute("select pg_terminate_backend(%s)", [self._chance.choice(pids)])
                        self.killed += 1
            except psycopg.OperationalError:
                continue  # the server starts anew after a crash


def backends(conn: psycopg.Connection[Any]) -> list[int]:
    """The process ids of the clients' backends."""
    rows = conn.execute(
        "select pid from pg_stat_activity where application_name = %s order by pid", [NAME]
    ).fetchall()
    return [pid for (pid,) in rows]


def resident() -> float:
    """MiB of memory this process holds; 0 where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(options: SoakOptions) -> dict[str, Any]:
    """Load, faults, and what came of them, ready for JSON; `failures` is empty when all held."""
    about = machine.about()
    seconds = options.minutes * 60
    with ExitStack() as until:
        here = until.enter_context(place.started(None, options.postgres))
        with psycopg.connect(here.admin, autocommit=True) as conn:  # a long load needs it
            conn.execute("alter system set autovacuum = on")
            conn.execute("select pg_reload_conf()")
        about["postgres"] = here.settings()
        dsn = make_conninfo(here.create("soak"), application_name=NAME)
        admin = make_conninfo(dsn, application_name="memlayer-soak-watch")
        place.lay(admin)
        models = until.enter_context(process(options.dimensions, options.seed, 1000))
        memory = Memory(
            Config(
                dsn=dsn,
                llm=Endpoint(model="ours", base_url=models.base_url, api_key="none"),
                embedder=Endpoint(model=MODEL, base_url=models.base_url, api_key="none"),
                max_size=options.clients,
            )
        )
        until.callback(memory.close)
        writer = Writer(options.seed, 1000)
        clients = [
            Client(memory, writer, number, options.seed, options.memories)
            for number in range(options.clients)
        ]
        watch = Watch(admin, options)
        stop, begin = threading.Event(), time.perf_counter()
        with (
            bar("soak, seconds", int(seconds)) as tick,
            ThreadPoolExecutor(options.clients + 1) as pool,
        ):
            jobs = [pool.submit(watch.run, begin, stop, tick)]
            jobs += [pool.submit(client.run, begin, stop) for client in clients]
            while time.perf_counter() - begin < seconds and not any(job.done() for job in jobs):
                time.sleep(0.1)
            stop.set()
            for job in jobs:
                job.result()
        _recovered(admin)
        failures = [
            line for client in clients for line in client.ledger.wrong(_stored(admin, client))
        ]
        memory.close()
        left = _left(admin)
        if left:
            failures.append(f"{left} connections are left over")
        with psycopg.connect(admin) as conn:
            problems = conn.execute("select * from memlayer.verify()").fetchall()
        failures += [f"verify: {problem}" for problem in problems]
    rows = [_row(name, [client.calls[name] for client in clients], seconds) for name in MIX]
    errors = sum(
        (calls.errors for client in clients for calls in client.calls.values()), Counter[str]()
    )
    return {
        "about": about,
        "soak": {
            "options": asdict(options),
            "operations": [row for row in rows if row],
            "errors": dict(errors),
            "calls": errors.total()
            + sum(len(calls.took) for client in clients for calls in client.calls.values()),
            "killed": watch.killed,
            "crashed": watch.crashed,
            "unsure": sum(len(client.ledger.unsure) + client.ledger.strays for client in clients),
            "memory_mib": _memory(watch.memory, seconds),
            "connections_most": max(watch.connections, default=0),
            "connections_left": left,
            "failures": failures,
        },
    }


def _recovered(admin: str) -> None:
    """Wait until the server takes connections: the last crash may be a moment old."""
    for _ in range(600):
        try:
            psycopg.connect(admin).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return


def _stored(admin: str, client: Client) -> dict[str, str]:
    """The texts of a client's user by id, read past the package."""
    with psycopg.connect(admin) as conn:
        rows = conn.execute(
            "select id::text, text from memlayer.memory where user_id = %s", [client.ledger.user]
        ).fetchall()
    return dict(rows)


def _left(admin: str) -> int:
    """Connections that are still there a while after everything was closed."""
    for _ in range(50):
        with psycopg.connect(admin, autocommit=True) as conn:
            if not (pids := backends(conn)):
                return 0
        time.sleep(0.1)
    return len(pids)


def _row(operation: str, made: list[Calls], seconds: float) -> dict[str, Any] | None:
    """Milliseconds of the calls that went well, in the first part of the time and in the last."""
    well = [call for calls in made for call in zip(calls.begun, calls.took, strict=True)]
    failed = sum(calls.errors.total() for calls in made)
    first = [took for begun, took in well if begun < seconds / PARTS]
    last = [took for begun, took in well if begun > seconds * (PARTS - 1) / PARTS]
    if not first or not last:
        return None
    return {
        "operation": operation,
        "calls": len(well) + failed,
        "errors": failed,
        "median_first_ms": statistics.median(first) * 1000,
        "median_last_ms": statistics.median(last) * 1000,
        "p95_first_ms": quantile(first, 0.95) * 1000,
        "p95_last_ms": quantile(last, 0.95) * 1000,
    }


def _memory(seen: list[tuple[float, float]], seconds: float) -> dict[str, float]:
    """MiB of this process: medians of the second tenth of the time and of the last."""
    tenths = {"begin": (0.1, 0.2), "end": (0.9, 1.1)}
    return {
        name: statistics.median(
            [mib for when, mib in seen if low * seconds <= when <= high * seconds] or [0.0]
        )
        for name, (low, high) in tenths.items()
    }
