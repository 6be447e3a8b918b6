"""Questions that may never be answered, asked once at a time: waiting for them holds one thread and not many."""

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
        """What comes of `work`, or of the same work that somebody else began before and that still runs."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                threading.Thread(target=_settle, args=(self._running, work), name=THREAD, daemon=True).start()
            return self._running


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # whoever waits must hear it
        future.set_exception(error)
