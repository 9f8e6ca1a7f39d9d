"""Spans of time as options take them."""

from __future__ import annotations

import re

import click

UNITS = "s|seconds?|min|minutes?|h|hours?|d|days?|w|weeks?|mons?|months?|y|years?"
SPAN = re.compile(rf"0|(\d+ *({UNITS})\b *)+", re.IGNORECASE)


def span(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Callback of an option that takes a span of time, as Postgres reads it: `90d`, `3 months`.

    Narrower than Postgres, for which `90` is seconds and `6M` minutes: a slip of this kind would
    delete nearly everything.
    """
    if value is None or SPAN.fullmatch(value.strip()):
        return value
    raise click.BadParameter(
        f"{value!r} is not understood: a number with its unit, such as 90d, '3 months' or 1y "
        "(h, min, d, w, mon, y, or the words)",
        ctx,
        param,
    )
