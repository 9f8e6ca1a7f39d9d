"""`memlayer db distribute` and `db partition-advice`: beyond one machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import say
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

MOST_OF_A_NODE = 0.5
"""Share of all memories from which one tenant decides how large a node has to be."""
FEW_TENANTS = 10
"""Below so many tenants they cannot be spread evenly."""


@click.command(cls=WithSettings)
@click.option("--dry-run", is_flag=True, help="Only show the statements.")
@pass_settings
def distribute(settings: Settings, dry_run: bool) -> None:
    """Lay the schema on a Citus cluster, by tenant.

    Run it on the coordinator, as a superuser, and again after each `memlayer db upgrade`: what is
    distributed already is passed over. On plain Postgres it shows the statements and changes
    nothing.
    """
    from memlayer_pg import distributing, schema

    api = [name.removeprefix("api/")[:-4] for name in schema.load_order() if "api/" in name]
    with places.connected(settings.config()) as conn:
        version = distributing.installed(conn)
        todo = distributing.steps(conn, api)
        runs = version is not None and not dry_run
        if runs:
            with output.progress("distributing", len(todo)) as told:
                for number, step in enumerate(todo, 1):
                    distributing.run(conn, [step])
                    if told:
                        told(number, len(todo))
    if settings.as_json:
        steps = [asdict(step) for step in todo]
        output.as_json({"citus": version, "changed": runs, "steps": steps})
    elif runs:
        click.echo(f"{len(todo)} statements run on Citus {version}")
    else:
        if version is None:
            say("note", "Citus is not installed in this database: nothing was changed")
        click.echo(distributing.script(todo), nl=False)


TENANTS = """
select m.tenant, count(*) as memories, sum(count(*)) over ()::bigint as of_all,
       count(*) over () as tenants
  from memlayer.memory m
 group by m.tenant
 order by memories desc, m.tenant
 limit 10
"""
SIZES = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes,
       pg_size_pretty(coalesce(sum(pg_total_relation_size(c.oid)), 0)) as size,
       (select s.setting::bigint * 8192 from pg_settings s where s.name = 'effective_cache_size')
         as cache_bytes,
       current_setting('effective_cache_size') as cache
  from pg_class c
 where c.relnamespace = 'memlayer'::regnamespace and c.relkind = 'r'
"""


@click.command("partition-advice", cls=WithSettings)
@pass_settings
def partition_advice(settings: Settings) -> None:
    """Whether one machine is still enough, and what helps.

    Compares what the tables take with effective_cache_size, and the tenants with one another.
    """
    from psycopg.rows import dict_row

    with places.connected(settings.config()) as conn, conn.cursor(row_factory=dict_row) as cursor:
        tenants = cursor.execute(TENANTS).fetchall()
        [sizes] = cursor.execute(SIZES.encode()).fetchall()
    advice = _advice(tenants, sizes)
    if settings.as_json:
        output.as_json({"tenants": tenants, **sizes, "advice": advice})
        return
    output.console().print(output.rows(tenants, ["tenant", "memories"]))
    click.echo(f"all tables: {sizes['size']}; effective_cache_size: {sizes['cache']}")
    for line in advice:
        click.echo(f"→ {line}")


def _advice(tenants: list[dict[str, Any]], sizes: dict[str, Any]) -> list[str]:
    if not tenants:
        return ["There are no memories yet: nothing to do."]
    if sizes["bytes"] <= sizes["cache_bytes"]:
        return ["All of it fits into the cache of this machine: nothing to do."]
    advice = [
        "The tables are larger than the cache. If the users at work at one time are few, their "
        "rows stay cached and nothing is to be done; else more memory is the first remedy, and "
        "searches on replicas (read_dsn) the second."
    ]
    largest, of_all = tenants[0], tenants[0]["of_all"]
    if largest["memories"] > MOST_OF_A_NODE * of_all:
        share = largest["memories"] / of_all
        advice.append(
            f"Tenant {output.shown(largest['tenant'])} has {share:.0%} of the memories: a cluster "
            "would put it on one node. Several tenants, such as one for each customer, would be "
            "spread."
        )
    elif largest["tenants"] < FEW_TENANTS:
        advice.append(f"{largest['tenants']} tenants are few to be spread over nodes.")
    else:
        advice.append("Citus spreads the tenants over nodes: memlayer db distribute.")
    return advice
