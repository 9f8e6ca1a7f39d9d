"""`memlayer search --plan`: how Postgres searches."""

from __future__ import annotations

from typing import Any

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings
from memlayer_pg.effects import Call, Row
from memlayer_pg.memory import Memory

PATHS = {
    "exact": "every memory of the scope is read",
    "past": "every memory of the scope is read, as its history has it",
    "large": "by indexes and stored statistics, the scope is too large to be read in full",
}
BEFORE = {"exact": "", "past": "", "large": ", the vector index included"}
LEGS = {"nearest": "by meaning", "wordiest": "by words", "named": "by names", "found": "in all"}


class Explained(Memory):
    """A memory whose searches find nothing; what Postgres says of them stands in `told`."""

    told: Row

    def _transaction(self, call: Call) -> list[Row]:
        # The very arguments of the search, so that no other one is explained.
        [self.told] = super()._transaction(Call("explain_search", call.args))
        return []


def plan(settings: Settings, query: str, *, keyword: bool, **asked: Any) -> Row:
    """What memlayer.explain_search says of a search; `asked` is what the search is given."""
    config = settings.config()
    with (
        places.database(config) as place,
        places.opened(config, place, embeds=not keyword, extracts=False, kind=Explained) as memory,
    ):
        (memory.keyword_search if keyword else memory.search)(query, **asked)
        assert isinstance(memory, Explained)
        return memory.told


def show(settings: Settings, told: Row) -> None:
    """The plan as JSON; for people which way it is, what each leg found and how long it took."""
    if settings.as_json:
        output.as_json(told)
        return
    [executed] = told["plan"]
    lines = {
        "path": f"{told['path']}: {PATHS[told['path']]}",
        "candidates": ", ".join(f"{told['legs'][key]} {name}" for key, name in LEGS.items()),
        "results": f"{executed['Plan']['Actual Rows']:.0f}",
        "preparing": f"{told['prepared_ms']:.1f} ms{BEFORE[told['path']]}",
        "planning": f"{executed['Planning Time']:.1f} ms",
        "execution": f"{executed['Execution Time']:.1f} ms",
        "plan": "shown with --json",
    }
    output.console().print(output.pairs(lines))
