"""Write the next revision from what changed in sql/: python migrations/revise.py "Fuse by max"."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

from alembic.script import ScriptDirectory

from memlayer_pg import schema

TEMPLATE = '''"""{title}."""

from memlayer_pg import schema

revision = "{revision}"
down_revision = {down}
branch_labels = {labels}
depends_on = None

# Run again as they stand at this revision.
FILES = {files}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {altered}
{new}

def upgrade() -> None:
    schema.apply(FILES, at=revision)
    schema.record(revision)


def downgrade() -> None:
    {way_down}
'''

SEARCH_PATH = "schema/search_path.sql"
"""Stands first in every revision: the bodies after it are bound by it."""

ONCE = re.compile(r"^create (?!or replace|extension|schema)", re.MULTILINE)
"""A statement that cannot be run a second time."""

CREATED = re.compile(r"^create (?:or replace )?(function|table|view) (memlayer\.\w+)", re.MULTILINE)


def recorded() -> dict[str, str]:
    """The digest each file had when a revision last touched it."""
    seen: dict[str, str] = {}
    scripts = ScriptDirectory.from_config(schema.config()).walk_revisions()
    for script in reversed(list(scripts)):
        seen |= script.module.FILES | script.module.ALTERED
    return seen


def committed(path: str) -> Iterator[str]:
    """The texts git has of a file of sql/, newest first."""
    log = git("log", "--format=%H", "--diff-filter=d", "--", f"sql/{path}")
    return (git("show", f"{commit}:sql/{path}") for commit in log.split())


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], cwd=schema.SQL.parent, check=True, capture_output=True)
    return done.stdout.decode()


def listing(files: dict[str, str]) -> str:
    rows = "".join(f'    "{path}": "{digest}",\n' for path, digest in files.items())
    return f"{{\n{rows}}}" if rows else "{}"


def keep(path: str, digest: str, revision: str) -> None:
    """Put the text that a revision replaces aside."""
    old = next((text for text in committed(path) if schema.digest(text) == digest), None)
    if old is None:
        sys.exit(f"git has no commit of sql/{path} as the last revision left it ({digest})")
    kept = schema.MIGRATIONS / "replaced" / revision / path
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(old, "utf-8")


def dropping(text: str) -> list[str]:
    """The statements that undo a new file, last first."""
    return [f"drop {kind} {name}" for kind, name in reversed(CREATED.findall(text))]


def main(title: str) -> None:
    before = recorded()
    texts = {path: (schema.SQL / path).read_text("utf-8") for path in schema.load_order()}
    now = {path: schema.digest(text) for path, text in texts.items()}
    changed = {path: digest for path, digest in now.items() if before.get(path) != digest}
    removed = [path for path in before if path not in now]
    if not changed and not removed:
        sys.exit("sql/ is what the newest revision left: there is nothing to write")
    head = max(schema.revisions(), default="")
    revision = f"ml{int(head[2:] or 0) + 1:04}"

    for path in [*changed, *removed]:
        if path in before:
            keep(path, before[path], revision)

    # An old file that cannot be run again is altered by hand; a new one is run like any other.
    by_hand = [path for path in changed if path in before and ONCE.search(texts[path])]
    run = [path for path in now if path in changed and path not in by_hand]
    if run and SEARCH_PATH not in run:
        run.insert(0, SEARCH_PATH)
    new = [path for path in run if path not in before] if head else []
    down = ["schema.clear()"]
    if head:
        but = ", but=NEW" if new else ""
        drops = [drop for path in reversed(new) for drop in dropping(texts[path])]
        down = [
            "schema.forget(revision)",
            f"schema.restore(FILES, at=down_revision{but})",
            *(f'schema.run("{drop}")' for drop in drops),
        ]
    slug = re.sub(r"\W+", "_", title.lower()).strip("_")
    written = schema.MIGRATIONS / "versions" / f"{revision}_{slug}.py"
    written.parent.mkdir(exist_ok=True)
    written.write_text(
        TEMPLATE.format(
            title=title.rstrip("."),
            revision=revision,
            down=f'"{head}"' if head else "None",
            labels="None" if head else '("memlayer",)',
            files=listing({path: now[path] for path in run}),
            altered=listing({path: changed[path] for path in by_hand}),
            new=f"\n# Not there before: the way down drops them.\nNEW = {new!r}\n" if new else "",
            way_down="\n    ".join(down),
        ),
        "utf-8",
    )
    print(f"wrote {written}")
    for path in by_hand:
        print(f"  say how it changes, both ways: sql/{path}")
    for path in removed:
        print(f"  say what is dropped, and restore it on the way down: sql/{path}")


if __name__ == "__main__":
    main(sys.argv[1])
