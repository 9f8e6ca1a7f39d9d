"""What `memlayer doctor` looks at where scopes may be large: sizes, statistics, vector indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlayer_pg.cli import large
from memlayer_pg.cli.checks import Check, one
from memlayer_pg.cli.output import minute
from memlayer_pg.config import Config

if TYPE_CHECKING:
    import psycopg

STALE = 0.1
"""Share of a scope's memories that may come or go until its words should be counted anew."""
RECALL = 0.95
"""The least share of the nearest that an index should find."""
SAMPLES = 5
"""Searches by which doctor measures it; `memlayer db recall-check` takes more."""

MAKE = "memlayer db ann-index"
REFRESH = "memlayer db refresh-statistics"

# Both counts are read from an index alone; what was rewritten since is not among them.
STATISTIC = """
select s.memories, s.refreshed_at,
       (select count(*) from memlayer.memory m
         where m.tenant = s.tenant and m.{kind}_id = s.scope_id and m.created_at > s.refreshed_at)
  from memlayer.scope_statistic s
 where s.tenant = %s and s.kind = %s and s.scope_id = %s
"""

LIVE = """
select count(*) from memlayer.memory
 where tenant = %s and {kind}_id = %s and (expires_on is null or expires_on >= memlayer.today())
"""

UNSOUND = """
select format('%%I.%%I', n.nspname, c.relname), i.indisvalid, d.tenant, b.pid
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
  left join memlayer.model d on c.relname = 'memory_ann_' || d.id and (
    d.state <> 'retired'
    or d.id in (select a.replaces from memlayer.model a where a.tenant = d.tenant))
  left join lateral (
    select p.pid
      from pg_stat_progress_create_index p
     where p.datname = current_database() and (p.index_relid = i.indexrelid or p.relid is null)
     limit 1) b on not i.indisvalid
 where n.nspname = 'memlayer'
   and (not i.indisvalid or (c.relname like 'memory\\_ann\\_%%' and d.tenant is null))
 order by 1
"""


def scopes(conn: psycopg.Connection[Any], config: Config) -> Check:
    """The largest scope, against what an exact search is good for."""
    found = large.largest(conn, config.tenant)
    if not found:
        return Check("scopes", "ok", f"tenant {config.tenant} has no memories yet")
    top, exact = found[0], large.threshold(conn, config.tenant)
    index = large.index(conn, config.tenant)
    said = f"the largest is {top}: {top.memories:,} memories"
    if top.memories <= exact:
        said = f"{said}, up to {exact:,} are searched exactly at ease"
        if index.state != "valid":
            return Check("scopes", "ok", said)
        unused = f"{said}; {index.name} serves none and slows every add"
        return Check("scopes", "ok", unused, f"{MAKE} --drop, unless more are to come")
    if index.state == "valid":
        return Check("scopes", "ok", f"{said}, searched by {index.name}")
    if index.state == "building":
        return Check("scopes", "ok", f"{said}; process {index.builder} is making {index.name}")
    said = f"{top} has {top.memories:,} memories, every search of them compares all vectors"
    return Check("scopes", "warn", said, MAKE)


def statistics(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Whether the words of large scopes are counted, and how long ago."""
    exact = large.threshold(conn, config.tenant)
    found = [scope for scope in large.largest(conn, config.tenant) if scope.memories > exact]
    counted = []
    for scope in found:
        names = (config.tenant, scope.kind, scope.id)
        row = conn.execute(STATISTIC.format(kind=scope.kind).encode(), names).fetchone()
        if row is None:
            [live] = one(conn, LIVE.format(kind=scope.kind), config.tenant, scope.id)
            if live > exact:
                said = f"the words of {scope} were never counted: a search reads all its memories"
                return Check("statistics", "warn", said, REFRESH)
            continue
        before, when, came = row
        counted.append(when)
        changed = came + abs(before + came - scope.memories)
        if changed > STALE * before:
            said = (
                f"of {scope} {changed:,} memories came or went since its words were counted, "
                f"{before:,} on {minute(when)} UTC"
            )
            return Check("statistics", "warn", said, REFRESH)
    if not counted:
        return Check("statistics", "ok", f"no scope has more than {exact:,} memories to be counted")
    said = f"large scopes counted: {len(counted)}, the first on {minute(min(counted))} UTC"
    return Check("statistics", "ok", said)


def recall(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Which share of the nearest the vector index finds, in the largest scope."""
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    index = large.index(conn, config.tenant)
    found = large.largest(conn, config.tenant)
    if index.state != "valid" or not found:
        return Check("recall", "ok", "there is no vector index: searches are exact")
    args = {"p_tenant": config.tenant, "p_samples": SAMPLES, **found[0].args}
    [row] = db.perform(conn, Call("recall_check", args))
    if not row["samples"]:
        return Check("recall", "ok", f"no memory of {found[0]} has a vector to search for")
    said = f"{index.name} finds {row['recall']:.2f} of the nearest of {found[0]}"
    if row["recall"] >= RECALL:
        return Check("recall", "ok", said)
    anew = f"reindex index concurrently memlayer.{index.name}"
    return Check("recall", "warn", said, f"{anew}; where that is no help: {MAKE} --drop")


def indexes(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Indexes that cost and serve nobody: left unfinished, or of a model that is not used."""
    making = ""
    for name, valid, tenant, builder in conn.execute(UNSOUND.encode(), ()):
        if builder is not None:
            making = f"; process {builder} is making {name}"
        elif valid:
            said = f"{name} is of a model that nobody uses any more"
            return Check("indexes", "warn", said, f"drop index concurrently {name}")
        elif tenant is not None:
            again = f"memlayer db ann-index --tenant {tenant} makes it anew, with --drop it goes"
            return Check("indexes", "warn", f"{name} was left unfinished", again)
        else:
            said = f"{name} is not valid"
            return Check("indexes", "warn", said, f"reindex index concurrently {name}")
    return Check("indexes", "ok", f"all valid{making}")
