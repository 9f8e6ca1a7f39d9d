"""migrations/revise.py, on a copy of the repository: what it writes takes a database both ways."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from memlayer_pg import schema
from memlayer_pg.catalog import Catalog
from tests.catalog import catalog
from tests.conftest import Servers, create, drop
from tests.migrations.revisions import filler, noting, psql

CHECKOUT = Path(__file__).parent.parent.parent
PARTS = ("sql", "migrations", "memlayer_pg", "docs", "pyproject.toml", "README.md", "LICENSE")

# Beside what there is: one of each kind, that nothing else needs.
SAMPLES = {
    "tables/sample.sql": """\
create table memlayer.sample (
  tenant text collate "C" not null,
  id     int not null,

  constraint sample_pkey primary key (tenant, id),
  constraint sample_id_key unique (id)
);

create index sample_id_idx on memlayer.sample (tenant, id desc);

comment on table memlayer.sample is 'Samples.';
comment on constraint sample_id_key on memlayer.sample is 'Stands once.';
comment on index memlayer.sample_id_idx is 'The newest first.';
""",
    "sample/half.sql": """\
create or replace function memlayer.half(p_number int)
  returns int
  language sql
  immutable
return p_number / 2;

comment on function memlayer.half is 'Half of it.';
""",
    "sample/quarter.sql": """\
create or replace function memlayer.quarter(p_number int)
  returns int
  language sql
  immutable
return memlayer.half(memlayer.half(p_number));

comment on function memlayer.quarter is 'A quarter of it.';
""",
    "sample/on_sample.sql": """\
create or replace function memlayer.on_sample()
  returns trigger
  language plpgsql
  set search_path from current
as $$
begin
  new.id := new.id + 1;
  return new;
end;
$$;

comment on function memlayer.on_sample is 'Counts on.';

create or replace trigger sample_counted
  before insert on memlayer.sample
  for each row when (memlayer.quarter(new.id) > 0) execute function memlayer.on_sample();

comment on trigger sample_counted on memlayer.sample is 'Counts on.';
""",
}


@dataclass(frozen=True)
class Repository:
    """A copy of the repository that nobody else uses."""

    root: Path
    server: str
    """The dsn of a server to try revisions on."""

    def run(self, *command: str, code: int = 0) -> str:
        """What a program says that sees this copy and no other."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", *("-c", "user.name=a", "-c", "user.email=a@b"), "commit", "-qm", "Change")

    def revise(self, title: str = "Change", code: int = 0) -> str:
        return self.run(sys.executable, "migrations/revise.py", title, self.server, code=code)

    def read(self, path: str) -> str:
        return (self.root / "sql" / path).read_text("utf-8")

    def write(self, path: str, text: str) -> None:
        file = self.root / "sql" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")

    def change(self, path: str, old: str, new: str) -> None:
        """Write something else into a file of sql/."""
        assert old in self.read(path)
        self.write(path, self.read(path).replace(old, new))

    def add(self, path: str, text: str) -> None:
        """A new file, the last one but for who may do what."""
        self.write(path, text)
        last = "\\ir roles/policies.sql\n"
        self.change("all.sql", last, f"\\ir {path}\n{last}")

    def remove(self, path: str) -> None:
        (self.root / "sql" / path).unlink()
        self.change("all.sql", f"\\ir {path}\n", "")

    def revision(self, revision: str = "ml0002") -> Path:
        [file] = (self.root / "migrations" / "versions").glob(f"{revision}_*.py")
        return file

    def memlayer(self, *args: str) -> str:
        return self.run(sys.executable, "-m", "memlayer_pg", *args)

    def migrate(self, dsn: str, revision: str, *, down: bool = False) -> None:
        program = (
            f"from memlayer_pg import schema; schema.migrate({dsn!r}, {revision!r}, down={down})"
        )
        self.run(sys.executable, "-c", program)

    def laid(self, dsn: str) -> Catalog:
        """The catalog of a database that sql/ is laid in."""
        with psycopg.connect(dsn) as conn:
            for path in schema.listed(self.read("all.sql")):
                conn.execute(self.read(path).encode())
        return catalog(dsn)


@pytest.fixture(scope="session")
def baseline(
    request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Repository:
    """A repository with the samples and one revision, the baseline of all that stands in sql/."""
    version = int(request.config.getoption("postgres").split(",")[0])
    repository = Repository(tmp_path_factory.mktemp("repository"), servers.dsn(version))
    for part in PARTS:
        if (CHECKOUT / part).is_dir():
            shutil.copytree(CHECKOUT / part, repository.root / part)
        else:
            shutil.copy(CHECKOUT / part, repository.root / part)
    shutil.rmtree(repository.root / "migrations" / "versions")
    shutil.rmtree(repository.root / "migrations" / "replaced", ignore_errors=True)
    for path, text in SAMPLES.items():
        repository.add(path, text)
    repository.run("git", "init", "-q")
    repository.revise("Baseline")
    repository.commit()
    return repository


@pytest.fixture
def repository(baseline: Repository, tmp_path: Path) -> Repository:
    shutil.copytree(baseline.root, tmp_path / "repository")
    return Repository(tmp_path / "repository", baseline.server)


@pytest.fixture
def second(server: str) -> Iterator[str]:
    """The dsn of one more empty database."""
    dsn = create(server)
    yield dsn
    drop(server, dsn)


@pytest.fixture(scope="session")
def revised(baseline: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Everything at once that a revision can be about without a column being touched."""
    root = tmp_path_factory.mktemp("revised") / "repository"
    shutil.copytree(baseline.root, root)
    repository = Repository(root, baseline.server)
    # a body, and one that the functions of compiled.sql are written with
    repository.change("history/record_history.sql", "\nbegin\n", "\nbegin\n  -- Every one.\n")
    repository.change("search/visible_predicate.sql", "\nreturn ", "\nreturn 'true and ' || ")
    # arguments and returned columns
    repository.change("sample/half.sql", "p_number int", "p_number int, p_more int default 0")
    repository.change("sample/half.sql", "p_number / 2", "p_number / 2 + p_more")
    repository.change(
        "api/scopes.sql", "returns table (kind text,", "returns table (n int, kind text,"
    )
    repository.change("api/scopes.sql", "select i.kind,", "select 1, i.kind,")
    repository.change(
        "search/compiled.sql",
        ")\n  returns table (",
        ", p_more text default '')\n  returns table (",
    )
    # new files, one of them a table with all that goes with it, and a trigger on an old table
    repository.add("sample/twice.sql", SAMPLES["sample/half.sql"].replace("half", "twice"))
    repository.add(
        "sample/colour.sql",
        "create type memlayer.colour as enum ('red', 'green');\n"
        "comment on type memlayer.colour is 'Colours.';\n",
    )
    repository.add(
        "tables/other.sql",
        SAMPLES["tables/sample.sql"]
        .replace("sample", "other")
        .replace("int not", "memlayer.colour not"),
    )
    repository.add(
        "sample/on_other.sql",
        SAMPLES["sample/on_sample.sql"]
        .replace("_sample", "_other")
        .replace("sample_counted", "other_counted"),
    )
    # what others call is gone, and so is an index
    repository.remove("api/recall_check.sql")
    repository.change(
        "sample/quarter.sql", "memlayer.half(memlayer.half(p_number))", "p_number / 4"
    )
    repository.change("tables/sample.sql", "(tenant, id desc)", "(tenant, id desc) where id > 0")
    # an index in the place of a constraint, and a constraint that is another one
    repository.change("tables/sample.sql", "sample_id_key unique (id)", "sample_id check (id > 0)")
    repository.change(
        "tables/sample.sql",
        "comment on constraint sample_id_key on memlayer.sample is",
        "create unique index sample_id_key on memlayer.sample (id);\n"
        "comment on index memlayer.sample_id_key is",
    )
    repository.change("tables/setting.sql", "{1,9}", "{1,8}")
    repository.change(
        "tables/memory.sql",
        "create index memory_user_idx",
        "create index memory_more_idx on memlayer.memory\n"
        "  using hnsw ((embedding::halfvec(3)) halfvec_cosine_ops)\n"
        "  where vector_dims(embedding) = 3;\n"
        "create index memory_user_idx",
    )
    repository.change(
        "tables/setting.sql",
        "\n);\n",
        "\n);\n\nalter table memlayer.setting set (fillfactor = 80);\n",
    )
    repository.change(
        "history/triggers.sql",
        "before truncate on memlayer.history",
        "before truncate on memlayer.change",
    )
    repository.change(
        "history/triggers.sql",
        "on trigger history_no_truncate on memlayer.history",
        "on trigger history_no_truncate on memlayer.change",
    )
    repository.revise("Everything: at once")
    return repository


def test_every_kind_of_change_goes_up_down_and_up_again_with_data(
    revised: Repository, empty: str, second: str
) -> None:
    wanted = revised.laid(second)
    revised.migrate(empty, "ml0001")
    left = catalog(empty)
    assert left != wanted
    with psycopg.connect(empty, autocommit=True) as conn:
        for statement in filler(schema.HEAD).split(";\n"):
            conn.execute(statement.encode())
        conn.execute("insert into memlayer.sample values ('default', 4), ('default', 1)")
    for revision, down, expected in (
        ("ml0002", False, wanted),
        ("ml0001", True, left),
        ("ml0002", False, wanted),
    ):
        revised.migrate(empty, revision, down=down)
        assert catalog(empty) == expected
        with psycopg.connect(empty) as conn:
            assert conn.execute("select * from memlayer.verify()").fetchall() == []
            assert conn.execute("select max(revision) from memlayer.deployment").fetchone() == (
                revision,
            )
            assert conn.execute("select id from memlayer.sample order by id").fetchall() == [
                (1,),
                (5,),
            ]
            [[found]] = conn.execute("""
                select text from memlayer.search(p_query => 'tea', p_embedding => '[1,0,0]',
                                                 p_model => 'small', p_user_id => 'ann') limit 1""")
            assert found == "Ann likes green tea"
    revised.migrate(empty, "base", down=True)
    assert list(catalog(empty)) == [("schema", "memlayer")]


def test_what_is_written_is_formatted_and_says_no_more_than_it_has_to(revised: Repository) -> None:
    for command in (("check",), ("format", "--check")):
        revised.run(sys.executable, "-m", "ruff", *command, "migrations")
    text = revised.revision().read_text("utf-8")
    assert '"sample/on_sample.sql"' in text  # goes with a function that has other arguments
    assert '"search/compiled.sql"' in text
    assert "sample_pkey" not in text
    assert "other_id_idx" not in text  # goes with its table


def test_docs_say_how_the_newest_revision_is_noted(revised: Repository, empty: str) -> None:
    revised.laid(empty)
    page = (revised.root / "docs" / "operations.md").read_text("utf-8")
    with psycopg.connect(empty) as conn:
        conn.execute(noting(page).encode())
    revised.migrate(empty, "ml0001", down=True)
    assert schema.current(empty) == "ml0001"


def test_the_wheel_has_what_the_way_down_needs(
    revised: Repository, tmp_path: Path, empty: str, second: str
) -> None:
    revised.run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    installed = Repository(tmp_path / "site", revised.server)
    installed.migrate(empty, "head")
    wanted = revised.laid(second)
    assert catalog(empty) == wanted
    installed.migrate(empty, "ml0001", down=True)
    installed.migrate(empty, "head")
    assert catalog(empty) == wanted


def test_the_script_for_psql_goes_from_one_revision_to_the_next_and_back(
    revised: Repository, empty: str, second: str
) -> None:
    revised.migrate(empty, "ml0001")
    left = catalog(empty)
    psql(empty, stdin=revised.memlayer("db", "sql", "--from", "ml0001"))
    assert catalog(empty) == revised.laid(second)
    psql(empty, stdin=revised.memlayer("db", "sql", "--from", "ml0002", "--to", "ml0001"))
    assert catalog(empty) == left


def test_the_third_revision_knows_what_the_second_left(repository: Repository, empty: str) -> None:
    repository.remove("api/recall_check.sql")
    repository.add("sample/first.sql", SAMPLES["sample/half.sql"].replace("half", "first"))
    repository.revise("Second")
    repository.commit()
    repository.change("sample/first.sql", "p_number int", "p_number int, p_more int")
    repository.revise("Third")
    text = repository.revision("ml0003").read_text("utf-8")
    assert listed_files(text) == ["sample/first.sql"]
    repository.migrate(empty, "ml0003")
    repository.migrate(empty, "base", down=True)
    repository.migrate(empty, "ml0002")
    repository.migrate(empty, "ml0003")
    with psycopg.connect(empty) as conn:
        assert conn.execute("select memlayer.first(4, 0)").fetchone() == (2,)


def test_a_column_is_left_to_be_written_by_hand_and_named(
    repository: Repository, empty: str, second: str
) -> None:
    repository.change(
        "tables/sample.sql", "  id     int not null,", "  id int not null,\n  x text,"
    )
    said = repository.revise(code=1)
    assert "up: column sample.x differs" in said
    written = repository.revision()
    text = written.read_text("utf-8")
    up, down = (
        "    schema.apply(FILES",
        "    schema.restore([*FILES, *REMOVED], at=down_revision)\n",
    )
    text = text.replace(
        up, f'    schema.alter("alter table memlayer.sample add x text", at=revision)\n{up}'
    )
    text = text.replace(
        down, f'{down}    schema.alter("alter table memlayer.sample drop x", at=down_revision)\n'
    )
    written.write_text(text, "utf-8")
    repository.migrate(empty, "ml0001")
    left = catalog(empty)
    repository.migrate(empty, "ml0002")
    assert catalog(empty) == repository.laid(second)
    repository.migrate(empty, "ml0001", down=True)
    assert catalog(empty) == left


def test_what_postgres_refuses_is_said(repository: Repository) -> None:
    repository.change(  # a constraint of a table needs it
        "keyword/fold.sql", "memlayer.fold(p_text text)", "memlayer.fold(p_text text, p_n int = 0)"
    )
    assert "up: the schema was not changed: cannot drop function memlayer.fold" in (
        repository.revise(code=1)
    )


def test_a_moved_file_is_run_in_its_new_place_and_drops_nothing(repository: Repository) -> None:
    text = repository.read("sample/on_sample.sql")
    repository.remove("sample/on_sample.sql")
    repository.add("sample/moved.sql", text)
    repository.revise()
    written = repository.revision().read_text("utf-8")
    assert listed_files(written) == ["sample/moved.sql", "sample/on_sample.sql"]
    assert "drop" not in written


def test_without_a_change_nothing_is_written(repository: Repository) -> None:
    assert "nothing to write" in repository.revise(code=1)
    assert repository.run("git", "status", "--short") == ""


def test_a_text_that_git_has_not_is_named_and_nothing_is_written(repository: Repository) -> None:
    shutil.rmtree(repository.root / ".git")
    repository.run("git", "init", "-q")
    repository.change("sample/half.sql", "/ 2", "/ 3")
    repository.commit()
    assert "no commit of sql/sample/half.sql" in repository.revise(code=1)
    assert repository.run("git", "status", "--short") == ""


def test_without_a_server_one_is_started(repository: Repository) -> None:
    repository.change("sample/half.sql", "/ 2", "/ 3")
    repository.run(sys.executable, "migrations/revise.py", "Change")
    assert listed_files(repository.revision().read_text("utf-8")) == ["sample/half.sql"]


def test_another_checkout_than_its_own_is_not_written_to(repository: Repository) -> None:
    shutil.copytree(repository.root / "migrations", repository.root / "elsewhere")
    said = repository.run(sys.executable, "elsewhere/revise.py", "Change", code=1)
    assert "install this checkout" in said


def listed_files(text: str) -> list[str]:
    """The files of sql/ that a revision names, but those that each one runs."""
    always = ["roles/policies.sql", "roles/grants.sql"]
    found = re.findall(r'^    "(.*?\.sql)"', text, re.MULTILINE)
    assert [path for path in found if path in always] == always
    return [path for path in found if path not in always]
