"""The pages people read, and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!-- (.+?) -->\n\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block: `line` is that of its first line of code.

    `marker`: what an HTML comment directly above it says. `output`: the text block that follows a
    block of code with nothing but a blank line between, which is what the code prints.
    """

    page: Path
    line: int
    language: str
    code: str
    marker: str | None = None
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in these languages, or all, in order."""
    text = page.read_text("utf-8")
    fences = list(FENCE.finditer(text))
    found = []
    for fence, after in zip(fences, [*fences[1:], None][: len(fences)], strict=True):
        shown = after is not None and after[1] == "text" and fence[1] != "text"
        adjacent = after is not None and text[fence.end() : after.start()] == "\n\n"
        marker = MARKER.search(text, 0, fence.start())
        found.append(
            Block(
                page=page,
                line=text.count("\n", 0, fence.start()) + 2,
                language=fence[1],
                code=fence[2],
                marker=marker[1] if marker else None,
                output=after[2] if after is not None and shown and adjacent else None,
            )
        )
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def section(page: Path, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or a higher one."""
    text = page.read_text("utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found, f"{page.name} has no heading {heading!r}"
    level = len(found[1])
    end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(text, found.end())
    return text[found.end() : end.start() if end else len(text)]


def rows(page: Path, heading: str) -> list[str]:
    """The first cell of each row of the tables below a heading; their heads have an empty one."""
    return re.findall(r"^\| ([^|\s].*?) \|", section(page, heading), re.MULTILINE)
