"""Everything that writes, each as one call on a scope with a past; run here or in a process that
is going to be killed. No test module, so that such a process imports little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memlayer_pg import Config, Endpoint, Memory

Known = Mapping[str, str]
"""The ids of the memories `kept` and `gone`, and of the call `deleted` that `gone` went with."""
ROWS: list[dict[str, Any]] = [
    {"id": f"00000000-0000-4000-8000-00000000000{n}", "text": f"imported {n}", "user_id": "ann"}
    | {"entities": [{"name": name, "type": "person"} for name in ("Ann", f"Bob {n}")]}
    for n in range(3)
]
for row, to in zip(ROWS, (ROWS[1], ROWS[2], ROWS[0]), strict=True):
    row["links"] = [{"id": to["id"], "kind": "updates"}]
KNOWN: dict[str, Any] = {
    "id": "00000000-0000-4000-8000-00000000000a",
    "text": "known",
    "user_id": "ann",
}
KNOWN["links"] = [{"id": ROWS[0]["id"]}]
OPERATIONS: dict[str, Callable[[Memory, Known], Any]] = {
    "add": lambda memory, known: memory.add(
        "I am Ann and like tea", user_id="ann", idempotency_key="once"
    ),
    "update": lambda memory, known: memory.update(known["kept"], "Ann likes coffee"),
    "delete": lambda memory, known: memory.delete(known["kept"]),
    "delete_all": lambda memory, known: memory.delete_all("ann"),
    "restore": lambda memory, known: memory.restore(known["gone"]),
    "undo": lambda memory, known: memory.undo(known["deleted"]),
    "import": lambda memory, known: memory.import_memories(ROWS, embed=True),
    "re-run": lambda memory, known: memory.import_memories([KNOWN, *ROWS], embed=True),
    "erase": lambda memory, known: memory.erase("ann"),
}
REPEATABLE = ("add", "update", "undo", "import", "re-run")
"""Those that, done again, find that nothing is left to do."""
STATE = """
select (select array_agg((text, version, embedding is null) order by text)
          from memlayer.memory where tenant = %(tenant)s)::text,
       (select array_agg((version, event, new_state ->> 'text') order by event, version, new_state ->> 'text')
          from memlayer.history where tenant = %(tenant)s)::text,
       (select array_agg(name order by name) from memlayer.entity where tenant = %(tenant)s),
       (select count(*) from memlayer.mention where tenant = %(tenant)s),
       (select count(*) from memlayer.link where tenant = %(tenant)s),
       (select count(*) from memlayer.session where tenant = %(tenant)s),
       (select count(*) from memlayer.receipt where tenant = %(tenant)s),
       (select array_agg((seq, content) order by seq)
          from memlayer.message where tenant = %(tenant)s)::text,
       (select array_agg(operation order by operation)
          from memlayer.change where tenant = %(tenant)s)
"""  # noqa: E501


def memory_of(dsn: str, tenant: str, url: str) -> Memory:
    """A memory whose models are scripted."""
    model = Endpoint(model="scripted", base_url=url, api_key="k", max_retries=0)
    return Memory(Config(dsn=dsn, tenant=tenant, llm=model, embedder=model))


def past(memory: Memory) -> Known:
    """Give the scope a past, an import that was begun among it."""
    [kept] = memory.add("Ann and Cleo like tea", user_id="ann", infer=False)["results"]
    [gone] = memory.add("Ann and Dora live in Rome", user_id="ann", infer=False)["results"]
    memory.import_memories([KNOWN])
    memory.delete(gone["id"])
    deleted = memory.changes(top_k=1)["results"][0]["id"]
    return {"kept": kept["id"], "gone": gone["id"], "deleted": deleted}


def in_a_process(dsn: str, tenant: str, url: str, operation: str, known: Known) -> None:
    """What a process does until it is killed."""
    with memory_of(dsn, tenant, url) as memory:
        OPERATIONS[operation](memory, known)
