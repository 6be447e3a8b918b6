"""Collapse concurrent calls of a function that may hang into one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
THREAD = "single-flight"


class SingleFlight(Generic[T]):
    """At most one call at a time, in a thread that keeps no process alive; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Future[T] | None = None

    def outcome(self, work: Callable[[], T]) -> Future[T]:
        """The future of `work`, or of the call that is already running."""
        with self._lock:
            if self._running is None or self._running.done():
                running: Future[T] = Future()
                threading.Thread(target=_settle, args=(running, work), name=THREAD, daemon=True).start()
                # Only now: a machine with too many threads may start none, and nobody would settle this one.
                self._running = running
            return self._running


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # re-raised in every waiting caller
        future.set_exception(error)
