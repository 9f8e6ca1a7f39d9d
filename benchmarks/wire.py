"""Counts what a client says to Postgres, from between the two. Nothing is timed through it."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Self

from psycopg.conninfo import conninfo_to_dict

STARTUP = 196608


class Wire:
    """`url`: goes through here. `statements`: executed; `round_trips`: times the client waited."""

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._socket = f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{parts['user']}@127.0.0.1:{port}/{parts['dbname']}"
        self.statements = self.round_trips = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def forget(self) -> None:
        """Count anew."""
        self.statements = self.round_trips = 0

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._socket)
            threading.Thread(target=self._upwards, args=(client, server), daemon=True).start()
            threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()

    def _upwards(self, client: socket.socket, server: socket.socket) -> None:
        try:
            code = 0
            while code != STARTUP:  # it asks for encryption first, which the server declines
                head = _exactly(client, 4)
                body = _exactly(client, struct.unpack(">i", head)[0] - 4)
                code = struct.unpack(">i", body[:4])[0]
                server.sendall(head + body)
            while True:
                head = _exactly(client, 5)
                body = _exactly(client, struct.unpack(">i", head[1:])[0] - 4)
                self.statements += head[:1] in (b"E", b"Q")
                self.round_trips += head[:1] in (b"S", b"Q")
                server.sendall(head + body)
        except OSError:
            client.close()
            server.close()


def _pass_on(server: socket.socket, client: socket.socket) -> None:
    try:
        while data := server.recv(65536):
            client.sendall(data)
    except OSError:
        pass
    client.close()


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data
