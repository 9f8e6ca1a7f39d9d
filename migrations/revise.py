"""Write the next revision from what changed in sql/: python migrations/revise.py "Fuse by max".

Digests tell which files changed, Postgres tells the rest: what the newest revision left and what
sql/ says are laid in two databases of a server of our own, and compared. Then the revision is
tried, up, down and up again; what it does not bring about is named, to be written into it by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from alembic.script import ScriptDirectory
from psycopg.conninfo import make_conninfo

from memlayer_pg import embedded, schema
from memlayer_pg.catalog import Catalog, catalog
from memlayer_pg.errors import SchemaError
from migrations.ways import ONCE, Laid, dragged, lay, way

TEMPLATE = '''"""{title}."""

from memlayer_pg import schema

revision = "{revision}"
down_revision = {down_revision}
branch_labels = {labels}
depends_on = None

# Run again as they stand at this revision.
FILES: dict[str, str] = {files}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {altered}

# Not there any more.
REMOVED: list[str] = {removed}


def upgrade() -> None:
    {up}


def downgrade() -> None:
    {down}
'''

ALWAYS = ("roles/policies.sql", "roles/grants.sql")
"""Run by every revision: everybody may execute a new function, and nobody is granted it."""

NOTED = re.compile(r"(?<=<!-- note the revision -->\n```text\n).*?(?=```)", re.DOTALL)


def recorded() -> dict[str, str]:
    """The digest each file had when a revision last touched it."""
    seen: dict[str, str] = {}
    scripts = ScriptDirectory.from_config(schema.config()).walk_revisions()
    for script in reversed(list(scripts)):
        seen |= script.module.FILES | script.module.ALTERED
        for path in getattr(script.module, "REMOVED", ()):
            del seen[path]
    return seen


def read(path: str) -> str:
    return (schema.SQL / path).read_text("utf-8")


def committed(path: str) -> Iterator[str]:
    """The texts git has of a file of sql/, newest first: those that a merge made, too."""
    log = git(
        *("log", "-m", "--full-history", "--format=%H", "--diff-filter=AM", "--", f"sql/{path}")
    )
    return (git("show", f"{commit}:sql/{path}") for commit in dict.fromkeys(log.split()))


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], cwd=schema.SQL.parent, check=True, capture_output=True)
    return done.stdout.decode()


def contents_left(paths: Iterable[str]) -> str:
    """The text of all.sql that lists these files."""
    wanted = set(paths)
    for text in chain([read("all.sql")], committed("all.sql")):
        if set(schema.listed(text)) == wanted:
            return text
    sys.exit("git has no commit of sql/all.sql with the files that the last revision left")


def text_left(path: str, digest: str) -> str:
    """The text of a file that has this digest."""
    for text in chain([read(path)] if (schema.SQL / path).is_file() else [], committed(path)):
        if schema.digest(text) == digest:
            return text
    sys.exit(f"git has no commit of sql/{path} as the last revision left it ({digest})")


def listing(files: dict[str, str]) -> str:
    rows = "".join(f'    "{path}": "{digest}",\n' for path, digest in files.items())
    return f"{{\n{rows}}}" if rows else "{}"


def keep(revision: str, texts: dict[str, str]) -> None:
    """Put the texts that a revision replaces aside."""
    for path, text in texts.items():
        kept = schema.MIGRATIONS / "replaced" / revision / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, "utf-8")


def note(revisions: list[str]) -> None:
    """Have docs/operations.md say how the newest revision is noted by hand."""
    page = schema.SQL.parent / "docs" / "operations.md"
    rows = ", ".join(f"('{revision}')" for revision in revisions)
    said = (
        f"insert into memlayer.deployment (revision) values {rows};\n"
        "create table memlayer.alembic_version as "
        f"select '{revisions[-1]}'::varchar(32) as version_num;\n"
    )
    page.write_text(NOTED.sub(said, page.read_text("utf-8")), "utf-8")


@dataclass(frozen=True)
class Change:
    """What the next revision is about: the files as the newest one left them, and as they are."""

    head: str
    contents: str
    """The text of all.sql then."""
    old: dict[str, str]
    new: dict[str, str]

    @property
    def revision(self) -> str:
        return f"ml{int(self.head[2:] or 0) + 1:04}"

    @property
    def changed(self) -> list[str]:
        """New files are among them."""
        return [path for path, text in self.new.items() if self.old.get(path) != text]

    @property
    def removed(self) -> list[str]:
        return [path for path in self.old if path not in self.new]


def found() -> Change:
    digests = recorded()
    contents = contents_left(digests) if digests else ""
    change = Change(
        head=max(schema.revisions(), default=""),
        contents=contents,
        old={path: text_left(path, digests[path]) for path in schema.listed(contents)},
        new={path: read(path) for path in schema.listed(read("all.sql"))},
    )
    if not change.changed and not change.removed:
        sys.exit("sql/ is what the newest revision left: there is nothing to write")
    return change


def write(change: Change, title: str, left: Laid, wanted: Laid) -> None:
    """The revision, and the texts that it replaces."""
    old, new, changed, removed = change.old, change.new, change.changed, change.removed
    by_hand = [path for path in changed if path in old and ONCE.search(new[path])]
    again = {*changed, *dragged(left, wanted), *ALWAYS} - {*by_hand}
    files = [path for path in new if path in again]
    up = way(left, wanted, by_hand, "schema.apply(FILES, at=revision)", "revision")
    restore = "schema.restore([*FILES, *REMOVED], at=down_revision)"
    down = way(wanted, left, by_hand, restore, "down_revision")
    head, revision = change.head, change.revision

    keep(revision, {path: old[path] for path in [*changed, *removed] if path in old})
    if head and list(old) != list(new):
        keep(revision, {"all.sql": change.contents})
    slug = re.sub(r"\W+", "_", title.lower()).strip("_")
    written = schema.MIGRATIONS / "versions" / f"{revision}_{slug}.py"
    written.parent.mkdir(exist_ok=True)
    written.write_text(
        TEMPLATE.format(
            title=title.rstrip("."),
            revision=revision,
            down_revision=f'"{head}"' if head else "None",
            labels="None" if head else '("memlayer",)',
            files=listing({path: schema.digest(new[path]) for path in files}),
            altered=listing({path: schema.digest(new[path]) for path in by_hand}),
            removed="[" + "".join(f'\n    "{p}",' for p in removed) + ("\n]" if removed else "]"),
            up="\n    ".join([*up, "schema.record(revision)"]),
            down="\n    ".join(["schema.forget(revision)", *down] if head else ["schema.clear()"]),
        ),
        "utf-8",
    )
    print(f"wrote {written}")


@contextmanager
def database(server: str, name: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a new database, which is dropped in the end."""
    dsn = make_conninfo(server, dbname=f"memlayer_revise_{name}")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database memlayer_revise_{name} template template0".encode())
        try:
            with psycopg.connect(dsn) as conn:
                yield conn
                conn.rollback()
        finally:
            admin.execute(f"drop database memlayer_revise_{name} with (force)".encode())


def revise(change: Change, title: str, server: str) -> list[str]:
    """Write the revision and try it; what is left to be written by hand."""
    with database(server, "left") as one, database(server, "wanted") as other:
        left, wanted = lay(one, change.old), lay(other, change.new)
        write(change, title, left, wanted)
    note(schema.revisions())
    with database(server, "tried") as conn:
        dsn = make_conninfo(server, dbname=conn.info.dbname)
        return tried(dsn, change.head, change.revision, left.catalog, wanted.catalog)


def tried(dsn: str, head: str, revision: str, left: Catalog, wanted: Catalog) -> list[str]:
    """What is not as it should be after the way up, down, and up again."""
    if head:
        schema.migrate(dsn, head)
    faults: list[str] = []
    for step, to, expected in (
        ("up", revision, wanted),
        ("down", head or "base", left),
        ("up again", revision, wanted),
    ):
        try:
            schema.migrate(dsn, to, down=step == "down")
        except SchemaError as error:
            return [*faults, f"{step}: {error.message}"]
        with psycopg.connect(dsn) as conn:
            differ = {key for key, _ in catalog(conn).items() ^ expected.items()}
        faults += [f"{step}: {kind} {name} differs" for kind, name in sorted(differ)]
    return faults


@contextmanager
def server_of_our_own() -> Iterator[str]:
    with TemporaryDirectory() as folder, embedded.start(Path(folder) / "server") as server:
        yield server.dsn


def main(title: str, dsn: str | None = None) -> int:
    """`dsn`: a server to try it on, where databases may be made; None starts one."""
    if Path(__file__).resolve().parent != schema.MIGRATIONS:
        sys.exit(
            f"memlayer_pg is that of {schema.MIGRATIONS.parent}: install this checkout with -e"
        )
    change = found()
    with nullcontext(dsn) if dsn else server_of_our_own() as server:
        faults = revise(change, title, server)
    for fault in faults:
        print(f"  {fault}")
    if faults:
        print("write into upgrade() and downgrade() what is missing; pytest tests/migrations tells")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(f"{__doc__}\nusage: python migrations/revise.py TITLE [DSN]")
    sys.exit(main(*sys.argv[1:]))
