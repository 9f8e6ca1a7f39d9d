"""What changed in a memory, word by word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli.output import minute, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Scripts without spaces between words are compared letter by letter.
TOKEN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|\w+|\s+|.")

MOST = 4000
"""Tokens of a text up to which it is compared; longer ones are shown whole, old and new."""


def events(found: list[dict[str, Any]], console: Console) -> Table:
    """The history of one memory: what happened when and by whom, and the words that changed."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="bold")
    table.add_column(ratio=1, overflow="fold")
    for event in found:
        head = Text(f"{event['event']}  ", style="bold")
        head.append(f"{minute(event['updated_at'])} UTC · {by(event)}", style="dim")
        table.add_row(f"v{event['version']}", Group(head, change(event, console)))
    return table


def by(event: Mapping[str, Any]) -> str:
    """Who did it: the application, and the role it had logged in as."""
    application = shown(event["application_name"] or "a program without a name")
    return f"{application}, as {shown(event['database_role'])}"


def change(event: Mapping[str, Any], console: Console) -> Text:
    """The words of one event."""
    from rich.text import Text

    old, new = event["old_memory"], event["new_memory"]
    marked = console.is_terminal and not console.no_color
    if old is None or event["event"] in ("ADD", "BASELINE"):
        return Text(shown(new or ""))
    if new is None:
        return Text(shown(old), style="strike red") if marked else Text(f"[-{shown(old)}-]")
    if old == new:
        return Text(
            "the words are the same: metadata, expiry, vector or another column changed", "dim"
        )
    return words(shown(old), shown(new), marked=marked)


def words(old: str, new: str, *, marked: bool) -> Text:
    """Two texts as one: what went and what came in colours, or as [-went-]{+came+}."""
    from rich.text import Text

    before, after = TOKEN.findall(old), TOKEN.findall(new)
    if len(before) + len(after) > MOST:
        before, after = [old], [new]
    line = Text()
    # Joined by what stays the same for two words or more: single ones would chop the text up.
    for went, came, same in _runs(before, after):
        if went:
            line.append(went if marked else f"[-{went}-]", "strike red" if marked else "")
        if marked and went.strip() and came.strip():
            line.append(" ")
        if came:
            line.append(came if marked else f"{{+{came}+}}", "bold green" if marked else "")
        line.append(same)
    return line


def _runs(before: list[str], after: list[str]) -> list[tuple[str, str, str]]:
    """What went, what came in its place, and what stays behind that, over and over."""
    found = [("", "", "")]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        went, came = "".join(before[start:end]), "".join(after[first:last])
        previous = found[-1]
        if kind == "equal":
            found[-1] = (previous[0], previous[1], previous[2] + came)
        elif previous[2].strip() or not (previous[0] or previous[1]):
            found.append((went, came, ""))
        else:  # only a blank in between
            between = previous[2]
            found[-1] = (previous[0] + between + went, previous[1] + between + came, "")
    return found
