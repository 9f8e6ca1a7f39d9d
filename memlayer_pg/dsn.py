"""Reading the address of a database, and never showing the password in it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memlayer_pg.config import libpq_url
from memlayer_pg.errors import ConfigError

FORMS = (
    "Write postgresql://user:password@host:5432/database, with @ : / % # and spaces "
    "percent-encoded, or host=… user=… password='…' dbname=…."
)


def parameters(dsn: str) -> dict[str, Any]:
    """The connection parameters that a dsn names, passwords as they are meant.

    postgresql://, postgres://, SQLAlchemy's postgresql+psycopg:// and key=value are understood.
    ConfigError when it cannot be read; its message holds nothing of the dsn, for any part of one
    that is misread may be the password.
    """
    plain = libpq_url(dsn)
    if "://" in plain:
        _, _, rest = plain.partition("://")
        authority, _, path = rest.partition("?")[0].partition("/")
        if authority.count("@") > 1 or "@" in path:
            raise ConfigError(
                "dsn: there is an @ where none can be",
                suggestion="In a URL, write @ in a user name or password as %40 and / as %2F.",
            )
    try:
        found = conninfo_to_dict(plain)
    except psycopg.ProgrammingError:
        # from None: the message below it quotes the dsn
        raise ConfigError("dsn: it cannot be read", suggestion=FORMS) from None
    # postgresql://ann:secret, without a host, has the password where the port stands.
    if not all(port.strip().isdecimal() for port in str(found.get("port") or 0).split(",") if port):
        raise ConfigError("dsn: its port is no number", suggestion=FORMS)
    return found
