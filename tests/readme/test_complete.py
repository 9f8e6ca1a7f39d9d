"""What programs and people may use is documented, and as it is."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import psycopg
import pytest

import memlayer_pg
from memlayer_pg import Config, Endpoint, Memory, errors, schema
from memlayer_pg.checks import UNSET
from tests.readme.pages import ROOT, blocks, section

PYTHON = ROOT / "docs" / "python.md"
SQL = ROOT / "docs" / "sql.md"
OPERATIONS = ROOT / "docs" / "operations.md"

METHODS = [
    name
    for name, _ in inspect.getmembers(Memory, inspect.isfunction)
    if not name.startswith("_") and name != "close"
]


def loaded(folder: str) -> list[str]:
    """The objects of a folder of sql/ that all.sql loads."""
    return [Path(path).stem for path in schema.load_order() if path.startswith(f"{folder}/")]


API = loaded("api")
TABLES = [*loaded("tables"), "deployment"]


def documented(name: str) -> inspect.Signature:
    """The signature of a method as docs/python.md has it."""
    [stub] = [block for block in blocks(PYTHON, "python") if block.code.startswith(f"def {name}(")]
    names: dict[str, Any] = {"UNSET": UNSET}
    exec(stub.code, names)
    return inspect.signature(names[name])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_documented_with_its_parameters_and_defaults(name: str) -> None:
    def plain(signature: inspect.Signature) -> list[tuple[str, object, object]]:
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    assert plain(documented(name)) == plain(inspect.signature(getattr(Memory, name)))
    assert section(PYTHON, name)


@pytest.mark.parametrize("kind", [Config, Endpoint])
def test_a_setting_is_documented_with_its_default(kind: type[Config] | type[Endpoint]) -> None:
    rows = section(PYTHON, "Configuration")
    for setting in fields(kind):
        [row] = re.findall(rf"^\|[^|]*`{setting.name}`.*\|$", rows, re.MULTILINE)
        written = row.split("|")[-3].strip(" `")
        if (default := default_of(setting)) is not MISSING:
            assert ast.literal_eval(written) == default, setting.name


def default_of(setting: Field[Any]) -> object:
    made = setting.default_factory
    return setting.default if made is MISSING else made()


def test_the_tree_of_errors_is_the_one_in_the_module() -> None:
    tree = [block.code for block in blocks(PYTHON, "text") if "MemlayerError" in block.code]
    assert tree == [(errors.__doc__ or "").partition("\n\n")[2]]


def test_everything_exported_is_documented() -> None:
    page = PYTHON.read_text("utf-8")
    for name in set(memlayer_pg.__all__) - {"__version__"}:
        assert re.search(rf"\b{name}\b", page), name


def test_an_error_code_is_documented_with_its_class() -> None:
    listed = re.findall(r"^\| (ML\d+) \| .+? \| `(\w+)` \|", OPERATIONS.read_text("utf-8"), re.M)
    known = {code: kind.__name__ for code, kind in errors.BY_SQLSTATE.items() if code}
    assert dict(listed) == known


@pytest.mark.parametrize("name", API)
def test_a_function_is_documented_with_its_parameters(
    conn: psycopg.Connection[Any], name: str
) -> None:
    query = """
        select unnest(proargnames[:pronargs]) from pg_proc
         where pronamespace = 'memlayer'::regnamespace and proname = %s
    """
    parameters = [row[0] for row in conn.execute(query, [name])]
    first = section(SQL, name).strip().partition("\n\n")[0]
    assert re.findall(r"`(p_\w+)`", first) == parameters


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_documented_with_its_columns(conn: psycopg.Connection[Any], name: str) -> None:
    query = """
        select attname from pg_attribute
         where attrelid = ('memlayer.' || %s)::regclass and attnum > 0 and not attisdropped
         order by attnum
    """
    columns = [row[0] for row in conn.execute(query, [name])]
    text = section(SQL, "Tables")
    assert re.search(rf"^\| `{name}` \|", text, re.MULTILINE)
    [paragraph] = re.findall(rf"^\*\*{name}\*\*: (.+?)(?:\n\n|\Z)", text, re.M | re.S)
    named = [word for word in re.findall(r"`(\w+)`", paragraph) if word in columns]
    assert list(dict.fromkeys(named)) == columns


@pytest.mark.parametrize("name", loaded("views"))
def test_a_view_is_documented_with_its_columns(conn: psycopg.Connection[Any], name: str) -> None:
    query = """
        select attname from pg_attribute
         where attrelid = ('memlayer.' || %s)::regclass and attnum > 0 order by attnum
    """
    columns = [row[0] for row in conn.execute(query, [name])]
    text = section(SQL, "Views")
    assert re.search(rf"^\| `{name}` \|", text, re.MULTILINE)
    [paragraph] = re.findall(rf"^\*\*{name}\*\*: (.+?)(?:\n\n|\Z)", text, re.M | re.S)
    named = [word for word in re.findall(r"`(\w+)`", paragraph) if word in columns]
    assert list(dict.fromkeys(named)) == columns


def test_every_problem_that_verify_can_name_is_explained() -> None:
    body = (ROOT / "sql" / "api" / "verify.sql").read_text("utf-8")
    problems = re.findall(r"^  (?:select|with)? ?[a-z]\.tenant, '(.+?)',", body, re.MULTILINE)
    assert len(problems) > 8
    for problem in problems:
        assert problem in section(SQL, "verify")
