"""How the demo looks: one method for each step of the tour, of the same name."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from memlayer_pg import demo
from memlayer_pg.cli import diffing, output, scoring
from memlayer_pg.cli.places import Place
from memlayer_pg.cli.reading import said

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memlayer_pg.demo.tour import Tour

SAID = sum(len(session["messages"]) for session in demo.conversations())


def invoked() -> str:
    """How a shell finds this program: `memlayer` where that is on PATH, else as it was started."""
    found, started = shutil.which("memlayer"), Path(sys.argv[0])
    if started.stem != "memlayer":
        return "memlayer" if found else f"{shlex.quote(sys.executable)} -m memlayer_pg"
    if found and started.exists() and os.path.samefile(found, started):
        return "memlayer"
    return shlex.quote(str(started))


class Screen:
    """Draws the steps of a tour on a console."""

    def __init__(self, tour: Tour, place: Place, console: Console) -> None:
        self.tour = tour
        self.place = place
        self.console = console
        self.changed = ""

    def setting(self, found: dict[str, Any]) -> None:
        what = "a Postgres of its own in" if self.place.embedded else "database"
        lines = {
            "database": f"{what} {found['location']}",
            "tenant": f"{found['tenant']} (emptied by each demo; other tenants are not touched)",
            "embedder": found["embedder"],
            "llm": found["llm"] or "none",
        }
        self.console.print(output.pairs(lines))

    def memories(self, found: list[dict[str, Any]]) -> None:
        self._head("1", f"Four sessions, {SAID} messages: what is remembered")
        if self.tour.verbatim:
            self._say(
                "Without a language model the facts are the messages, word for word. With "
                "OPENAI_API_KEY set, facts are drawn from them and dates are worked out."
            )
            self.console.print()
        table = output.grid("said", "by", "memory")
        for item in found:
            by = item.get("role") or item.get("attributed_to") or ""
            table.add_row(item["observed_at"][:10], by, Text(output.shown(item["memory"])))
        self.console.print(table)

    def searches(self, found: list[dict[str, Any]]) -> None:
        self._head("2", "Searching: what it means, which words and whose names")
        for search in found:
            self.console.print(Text(f"? {search['query']}", style="bold"))
            table = scoring.results(search["results"], self.console, explain=True, ids=False)
            self.console.print(table)
            self.console.print()
        results = [item for search in found for item in search["results"]]
        self.console.print(scoring.legend(results, self.console))

    def correction(self, found: dict[str, Any]) -> None:
        self._head("3", "A memory changes, and its history says how and by whom")
        self.changed = found["id"]
        self.console.print(diffing.events(found["history"], self.console))
        self.console.print()
        self._say("The third was plain SQL, not a call: triggers write history, whoever writes.")
        self._sql(demo.PLAIN_SQL.replace("%s", "'…'") + ";")

    def messages(self, found: list[dict[str, Any]]) -> None:
        self._head("4", f"The ring buffer: the newest {len(found)} of {SAID} messages, for context")
        self.console.print(said(found, self.console.width))

    def analysis(self, found: dict[str, Any]) -> None:
        self._head("5", "Ordinary tables, so an analyst can ask")
        self._sql(found["sql"])
        self.console.print()
        if found["rows"]:
            self.console.print(output.rows(found["rows"], list(found["rows"][0])))

    def verify(self, found: list[dict[str, Any]]) -> None:
        self._head("6", "Nothing contradicts itself")
        self._sql(demo.VERIFY)
        if found:
            self.console.print(output.rows(found, list(found[0])))
        self._say(f"({len(found)} rows)")

    def end(self) -> None:
        """How to go on."""
        self._head("→", "Go on from here")
        lines = (
            [] if self.place.embedded else [f"export MEMLAYER_DSN={shlex.quote(self.place.shown)}"]
        )
        program = invoked()
        lines += [
            "export MEMLAYER_TENANT=demo",
            f"{program} search 'what must she not eat?' --user mei --explain",
            f"{program} history {self.changed}",
            f"{program} db psql -c 'select * from memlayer.change'",
        ]
        if self.place.embedded:
            lines.append(f"{program} serve-embedded    # keeps it running, for BI tools")
        self._code("\n".join(lines), "bash")

    def _head(self, number: str, title: str) -> None:
        self.console.print()
        self.console.rule(Text(f"{number}  {title}", style="bold"), align="left", style="dim")

    def _say(self, text: str) -> None:
        self.console.print(Text(text, style="italic dim"))

    def _sql(self, text: str) -> None:
        self._code(text, "sql")

    def _code(self, text: str, language: str) -> None:
        shown: RenderableType = Text(text)
        if self.console.is_terminal and not self.console.no_color:
            shown = Syntax(text, language, theme="ansi_dark", background_color="default")
        self.console.print(Padding(shown, (0, 0, 0, 2)))
