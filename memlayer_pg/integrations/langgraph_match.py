"""Filters and namespace patterns of LangGraph.

A filter means JSON values: 1 is 1.0 and neither "1" nor true. Postgres is asked for what it can
tell, so that few items come back; `matches` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition, SearchOp

from memlayer_pg.integrations.langgraph_items import path

ORDERS: dict[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
OPERATORS = ("$eq", "$ne", *ORDERS)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value passes a filter; ValueError for an operator that there is not."""
    return all(_fits(value.get(key), operand) for key, operand in (wanted or {}).items())


def pushed(op: SearchOp) -> dict[str, Any]:
    """What Postgres can tell of a search: every item that passes has these metadata."""
    where: dict[str, Any] = {}
    if op.namespace_prefix:
        where["prefixes"] = path(op.namespace_prefix)
    for key, operand in (op.filter or {}).items():
        wanted = operand.get("$eq") if isinstance(operand, Mapping) else operand
        # A dot would be a step, and a list or an object could match by a part.
        if isinstance(wanted, str | int | float) and "." not in key:
            where[f"value.{key}"] = {"eq": wanted}
    return where


def listed(namespaces: list[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces an operation asks for, in order."""
    fitting = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(_like(namespace, condition) for condition in op.match_conditions or ())
    }
    return sorted(fitting)[op.offset : op.offset + op.limit]


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compare(value, operator, wanted[operator]) for operator in wanted)
        return isinstance(value, Mapping) and matches(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
        )
    return _same(value, wanted)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator not in OPERATORS:
        raise ValueError(f"Unsupported operator: {operator}. Use one of {', '.join(OPERATORS)}.")
    if operator in ORDERS:
        comparable = (_is_number(value) and _is_number(operand)) or (
            isinstance(value, str) and isinstance(operand, str)
        )
        return comparable and ORDERS[operator](value, operand)
    return _same(value, operand) == (operator == "$eq")


def _same(value: Any, other: Any) -> bool:
    """Whether two are the same in JSON, where true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _like(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    labels, wanted = namespace, tuple(condition.path)
    if len(labels) < len(wanted):
        return False
    if condition.match_type == "suffix":
        labels, wanted = labels[::-1], wanted[::-1]
    elif condition.match_type != "prefix":
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return all(want in ("*", label) for label, want in zip(labels, wanted, strict=False))
