"""A deadline for a whole blocking request: name, connection, handshake, head and body together.

The timeouts of HTTP libraries restart with every byte, so a server that sends one per second holds a caller for
as long as it likes. Here every wait on the network is cut to what is left of the request's time.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float | None] = ContextVar("end of the request", default=None)


class DeadlinePassed(Exception):
    """The request took longer than it may."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything within that asks `time_left` before it waits ends after `seconds`, by `DeadlinePassed`."""
    token = _end.set(time.monotonic() + seconds)
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
    answer: Future[list[str]] = Future()
    threading.Thread(target=_resolve, args=(host, port, answer), daemon=True, name=f"resolve {host}").start()
    try:
        return answer.result(timeout)
    except TimeoutError as error:
        raise TimeoutError(f"the name {host} was not resolved in time") from error


def _resolve(host: str, port: int, answer: Future[list[str]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.set_result([str(address[0]) for *_, address in found])
    except Exception as error:
        answer.set_exception(error)
