"""A man in the middle between a client and Postgres: counts what the client sends.

A round trip ends with a Sync message or is a simple Query. `functions` are those of ours that are
called by name, `others` the statements that call none.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """`dsn`: goes through the proxy. `before`: called with the number of a round trip (from 1)
    before it is passed on; `after`: once its answer is on the way to the client. OSError there
    cuts the connection."""

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._server = (parts["host"], parts.get("port", "5432"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=str(port), gssencmode="disable")
        self.round_trips = 0
        self.functions: list[str] = []
        self.others: list[str] = []
        self.connections = 0
        self.before: Callable[[int], None] | None = None
        self.after: Callable[[int], None] | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def forget(self) -> None:
        """Count anew."""
        self.round_trips = self.connections = 0
        self.functions, self.others = [], []

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            host, port = self._server
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{host}/.s.PGSQL.{port}")
            threading.Thread(target=self._upstream, args=(client, server), daemon=True).start()
            threading.Thread(target=self._downstream, args=(server, client), daemon=True).start()

    def _upstream(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while True:  # startup: SSL is refused by a server on a Unix socket, then it starts
                body = _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)
                server.sendall(struct.pack(">i", len(body) + 4) + body)
                if struct.unpack(">i", body[:4])[0] == 196608:
                    break
            while True:
                head = _exactly(client, 5)
                body = _exactly(client, struct.unpack(">i", head[1:])[0] - 4)
                self._note(head[:1], body)
                server.sendall(head + body)
        except OSError:
            client.close()
            server.close()

    def _note(self, kind: bytes, body: bytes) -> None:
        if kind in (b"P", b"Q"):
            text = body.decode("latin-1")
            called = re.findall(r'memlayer\."?(\w+)', text)
            self.functions += called
            if not called:
                self.others.append(text)
        if kind in (b"S", b"Q"):
            self.round_trips += 1
            if self.before is not None:
                self.before(self.round_trips)

    def _downstream(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(65536):
                # The last six bytes of an answer are ReadyForQuery.
                if self.after is not None and data[-6:-1] == b"Z\x00\x00\x00\x05":
                    self.after(self.round_trips)
                client.sendall(data)
        except OSError:
            pass
        # close() alone would leave both open for as long as the other thread reads from them.
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            raise OSError("closed")
        data += part
    return data
