"""What to do about a connection that could not be made, or that a pooler has mixed up.

The server gives a refused connection no SQLSTATE that reaches a client: there are only the words of
libpq and OpenSSL. They choose the advice and nothing else: no class of error depends on them.
"""

from __future__ import annotations

import psycopg

POOLED = (
    "A pooler that does not keep prepared statements apart mixes them up: set "
    "prepare_threshold=None (MEMLAYER_PREPARE_THRESHOLD=none), or max_prepared_statements in a "
    "PgBouncer from 1.21 on."
)
BY_SQLSTATE = {"42P05": POOLED, "26000": POOLED}
"""duplicate_prepared_statement and invalid_sql_statement_name."""
BY_WORDS = {
    "bind message supplies": POOLED,
    "does not match host name": (
        "Write as host= a name that the server's certificate holds; hostaddr= can say the address."
    ),
    "certificate verify failed": (
        "sslrootcert= must name the file of the CA that signed the server's certificate; "
        "sslrootcert=system takes the CAs that the machine trusts."
    ),
    "root certificate file": (
        "sslrootcert= must name the file of the CA that signed the server's certificate; "
        "sslrootcert=system takes the CAs that the machine trusts."
    ),
    "certificate required": (
        "The server wants a certificate of the client: name its files with sslcert= and sslkey=."
    ),
    "valid client certificate": (
        "The server wants a certificate of the client: name its files with sslcert= and sslkey=."
    ),
    "unknown ca": "The server does not know the CA that signed the certificate of sslcert=.",
    "private key file": "sslkey= must name a file that only its owner may read (chmod 600).",
    "does not support SSL": (
        "Turn ssl on at the server, or look whether host and port are those of another one."
    ),
    "no encryption": "The server refuses plain connections: add sslmode=verify-full.",
    "SSL required": "The server refuses plain connections: add sslmode=verify-full.",
    "password authentication failed": (
        "In a URL write @ : / % # ? and spaces of a password percent-encoded, in a key=value "
        "string write it in quotes, with \\ before a quote or a \\."
    ),
    "no password supplied": (
        "Put the password into the dsn, PGPASSWORD, or a file that passfile= or ~/.pgpass names."
    ),
    "session is read-only": (
        "None of the hosts is a primary at the moment: try again when the standby is promoted."
    ),
}


def hint(error: psycopg.Error) -> str | None:
    """What the server says to do about an error, or we do; None where there is nothing to say."""
    if said := error.diag.message_hint:
        return said
    sqlstate = error.sqlstate
    if sqlstate is not None and not sqlstate.startswith("08"):
        return BY_SQLSTATE.get(sqlstate)
    message = str(error)
    return next((advice for words, advice in BY_WORDS.items() if words in message), None)
