"""A server that says anything to anybody, for tests of those who ask one that they must not trust."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache

Script = Callable[[socket.socket, bytes], None]


@contextmanager
def hostile_servers() -> Iterator[Callable[[Script], str]]:
    """Starts servers that run a script on each connection with the head of the request; gives their addresses."""
    listeners: list[socket.socket] = []

    def accept(listener: socket.socket, script: Script) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection, script), daemon=True).start()

    def answer(connection: socket.socket, script: Script) -> None:
        with connection, suppress(OSError):
            script(connection, connection.recv(1 << 16))

    def start(script: Script) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, script), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    try:
        yield start
    finally:
        for listener in listeners:
            # The thread that waits for a connection hears of this, and not of `close` alone.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


def answers(body: bytes, coding: str = "", status: str = "200 OK") -> Script:
    """A whole answer."""
    coded = f"Content-Encoding: {coding}\r\n" if coding else ""
    whole = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{coded}\r\n".encode() + body
    return lambda connection, _: connection.sendall(whole)


def drips(start: bytes, byte: bytes, end: bytes) -> Script:
    """A beginning, then a byte every .05 s for 10 s, then an end that makes it a whole answer."""

    def script(connection: socket.socket, head: bytes) -> None:
        connection.sendall(start)
        for _ in range(200):
            time.sleep(0.05)
            connection.sendall(byte)
        connection.sendall(end)

    return script


@cache
def nested(times: int, size: int = 64 << 20) -> bytes:
    """Zeros, packed so many times."""
    body = bytes(size)
    for _ in range(times):
        body = gzip.compress(body)
    return body


def endless(start: bytes, piece: bytes) -> Script:
    """A beginning, then pieces until the reader leaves."""

    def script(connection: socket.socket, head: bytes) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece)

    return script


def documents(known: Mapping[str, bytes]) -> Script:
    """Answers each path with its document, and others with 404."""

    def script(connection: socket.socket, head: bytes) -> None:
        found = known.get(head.split(b" ")[1].decode())
        answers(found or b"", status="200 OK" if found is not None else "404 Not Found")(connection, head)

    return script
