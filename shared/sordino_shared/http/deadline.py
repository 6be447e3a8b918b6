"""A deadline for a whole blocking request: name, connection, handshake, head and body together.

The timeouts of HTTP libraries restart with every byte, so a server that sends one per second holds a caller for
as long as it likes. Here every wait on the network is cut to what is left of the request's time.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue

_end: ContextVar[float | None] = ContextVar("end of the request", default=None)


class DeadlinePassed(Exception):
    """The request took longer than it may."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything within that asks `time_left` before it waits ends after `seconds`, by `DeadlinePassed`.

    Of a deadline within another one the earlier counts.
    """
    outer, own = _end.get(), time.monotonic() + seconds
    token = _end.set(own if outer is None else min(outer, own))
    try:
        yield
    finally:
        _end.reset(token)


def time_left(timeout: float | None = None) -> float | None:
    """Seconds, the shorter of `timeout` and what is left of the deadline; raises `DeadlinePassed` when nothing is."""
    end = _end.get()
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0:
        raise DeadlinePassed
    return left if timeout is None else min(left, timeout)


def addresses(host: str, port: int, timeout: float | None) -> list[str]:
    """The addresses of a name; raises OSError, UnicodeError, and TimeoutError after `timeout` seconds.

    A resolver takes no time limit, so it is asked in a thread that is not waited for.
    """
    answer: SimpleQueue[list[str] | Exception] = SimpleQueue()
    threading.Thread(target=_resolve, args=(host, port, answer), daemon=True, name=f"resolve {host}").start()
    try:
        found = answer.get(timeout=timeout)
    except Empty:
        raise TimeoutError(f"the name {host} was not resolved in time") from None
    if isinstance(found, Exception):
        raise found
    return found


def _resolve(host: str, port: int, answer: SimpleQueue[list[str] | Exception]) -> None:
    try:
        # A name as bytes needs no codec of international names, which takes longer to import than a name to resolve.
        name: str | bytes = host.encode() if host.isascii() else host
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        answer.put([str(address[0]) for *_, address in found])
    except Exception as error:
        answer.put(error)
