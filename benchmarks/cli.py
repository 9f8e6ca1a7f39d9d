"""The command: `python -m benchmarks`, or only `speed` or `quality` of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks import quality, report, soak, speed
from benchmarks.measure import Effort
from benchmarks.options import Options
from benchmarks.progress import console
from benchmarks.quality import QualityOptions

HERE = Path(__file__).parent
Command = Callable[..., Any]

folder = click.Path(file_okay=False, path_type=Path)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Options of several commands as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


SHARED = together(
    click.option("--results", type=folder, default=HERE / "results", show_default="beside it",
                 help="Folder for JSON, PNG and the Markdown page."),
    click.option("--postgres", type=int, help="Major version of the embedded server: 16 or 18."),
    click.option("--mem0-python", metavar="PATH",
                 help="A Python that has mem0ai installed; without it this one, if it has."),
    click.option("--no-mem0", is_flag=True, help="Leave mem0 out."),
    click.option("--spacy-model", metavar="NAME",
                 help="The spaCy model mem0 uses; without it mem0 works without spaCy."),
    click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, no table."),
)  # fmt: skip

SPEED = together(
    click.option("--workloads", default="ABCI", show_default=True,
                 help="A: many users; B: one large scope; C: many more; B2: B among them; "
                 "I: import."),
    click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1.0,
                 show_default=True, help="Share of the users and of the large scope."),
    click.option("--per-user", default="10,100,1000", show_default=True,
                 help="Memories a user has in A."),
    click.option("--clients", default="1,8", show_default=True, help="Clients at a time in A."),
    click.option("--dimensions", type=int, default=1536, show_default=True),
    click.option("--rounds", type=int, default=12, show_default=True,
                 help="Turns of five calls that each contender gets."),
    click.option("--seconds", type=float, default=15, show_default=True,
                 help="After which a contender gets no more turns at an operation."),
    click.option("--no-hnsw", is_flag=True, help="Build no HNSW index, which takes long."),
    click.option("--keep", type=folder,
                 help="Keep the server and the large databases here for another run."),
    click.option("--seed", type=int, default=1, show_default=True),
)  # fmt: skip

QUALITY = together(
    click.option("--sets", default="", help="Names of sets, with commas; without it all."),
    click.option("--limit", type=int, help="So many questions of each set."),
    click.option("--cache", type=folder, default=HERE / "cache", show_default="beside it",
                 help="Folder where vectors are kept."),
    click.option("--vectors", type=folder,
                 help="Folder with emb_<set>_docs.npy and emb_<set>_queries.npy to take over."),
)  # fmt: skip

DATA = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(invoke_without_command=True)
@click.option("--data", type=DATA, help="Folder of retrieval sets, for quality.")
@SHARED
@SPEED
@QUALITY
@click.pass_context
def cli(context: click.Context, /, data: Path | None, **given: Any) -> None:
    """Measure memlayer-pg against plain pgvector and mem0: speed, and with --data quality too."""
    if context.invoked_subcommand is None:
        wanted = {name: given[name] for name in _names(speed_command)}
        context.invoke(speed_command, **wanted)
        if data is not None:
            wanted = {name: given[name] for name in _names(quality_command) if name != "data"}
            context.invoke(quality_command, data=data, **wanted)


@cli.command("speed")
@SHARED
@SPEED
def speed_command(**given: Any) -> None:
    """Measure time, work and space."""
    options = Options(
        results=given["results"],
        keep=given["keep"],
        seed=given["seed"],
        dimensions=given["dimensions"],
        postgres=given["postgres"],
        mem0_python=_mem0(given["mem0_python"], given["no_mem0"]),
        spacy_model=given["spacy_model"],
        workloads=given["workloads"].upper(),
        per_user=_numbers(given["per_user"]),
        clients=_numbers(given["clients"]),
        scale=given["scale"],
        hnsw=not given["no_hnsw"],
        effort=Effort(rounds=given["rounds"], seconds=given["seconds"]),
    )
    _tell("speed", options.results, speed.run(options), given["as_json"])


@cli.command("quality")
@click.option("--data", type=DATA, required=True, help="Folder of retrieval sets.")
@SHARED
@QUALITY
def quality_command(**given: Any) -> None:
    """Measure what is found: recall@10 and nDCG@10."""
    options = QualityOptions(
        data=given["data"],
        results=given["results"],
        cache=given["cache"],
        names=tuple(name for name in given["sets"].split(",") if name),
        limit=given["limit"],
        vectors=given["vectors"],
        postgres=given["postgres"],
        mem0_python=_mem0(given["mem0_python"], given["no_mem0"]),
        spacy_model=given["spacy_model"],
    )
    _tell("quality", options.results, quality.run(options), given["as_json"])


@cli.command("soak")
@click.option(
    "--results",
    type=folder,
    default=HERE / "results",
    show_default="beside it",
    help="Folder for JSON and the Markdown page.",
)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True)
@click.option("--clients", type=click.IntRange(1), default=8, show_default=True)
@click.option(
    "--kill-every",
    type=click.FloatRange(0),
    default=2.0,
    show_default=True,
    help="Seconds between backends that are told to end; 0: never.",
)
@click.option(
    "--crash-every",
    type=click.FloatRange(0),
    default=120.0,
    show_default=True,
    help="Seconds between crashes of the server (SIGKILL of a backend); 0: never.",
)
@click.option(
    "--memories",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="About how many each client's user keeps.",
)
@click.option("--dimensions", type=int, default=384, show_default=True)
@click.option("--postgres", type=int, help="Major version of the embedded server: 16 or 18.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, no table.")
def soak_command(results: Path, as_json: bool, **given: Any) -> None:  # fmt: skip
    """A mixed load of many minutes with kills; exit code 1 when a promise was broken."""
    found = soak.run(soak.SoakOptions(**given))
    _tell("soak", results, found, as_json)
    if found["soak"]["failures"]:
        sys.exit(1)


def _tell(kind: str, results: Path, found: dict[str, Any], as_json: bool) -> None:
    report.save(results, kind, found)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        report.show(found)
        console.print(f"Saved in {results}")


def _names(command: click.Command) -> list[str]:
    return [option.name for option in command.params if option.name is not None]


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers with commas") from None


def _mem0(python: str | None, without: bool) -> str | None:
    """The Python that runs mem0; None when it is to be left out or is not there."""
    if without:
        return None
    found = shutil.which(python or sys.executable)
    if found is not None and not _fails(found):
        return found
    if python is not None:
        raise click.BadParameter(f"{python} has no mem0ai")
    console.print("mem0ai is not installed: it is left out (--mem0-python names where it is)")
    return None


def _fails(python: str) -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('mem0') is None)"
    return subprocess.run([python, "-c", look], check=False).returncode != 0


def main() -> None:
    cli()
