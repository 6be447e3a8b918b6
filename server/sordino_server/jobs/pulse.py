"""The sign of life of a worker: a file that it touches, whose age `sordino health --worker` reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from sordino_server.kit.logs import logger

log = logger(__name__)

_EVERY_S = 1.0
# While the reports of one round are deleted, which no lease tells of.
_WHILE_BUSY_S = 10.0


class Pulse:
    """Touches `file` at most once a second; does nothing without one."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._file = file
        self._clock = clock
        self._next = float("-inf")
        self._failed = False

    def beat(self) -> None:
        """The worker has polled the database, or renewed its lease."""
        if self._file is None or self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY_S
        try:
            self._file.touch()
            self._failed = False
        except OSError as error:
            if not self._failed:
                log.warning("the heartbeat cannot be written", file=str(self._file), problem=str(error))
            self._failed = True

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat from a thread until the block ends."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(_WHILE_BUSY_S):
                self.beat()

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
