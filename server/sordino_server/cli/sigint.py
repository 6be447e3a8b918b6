"""First SIGINT/SIGTERM: stop searching, keep the best plan. Second: abort."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STANDARD_ERROR = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FINISHING = b"\nstopping with the best plan so far; press again to abort\n"


@contextmanager
def finishing_when_asked() -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether SIGINT or SIGTERM arrived; the second one raises KeyboardInterrupt."""
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        # Unbuffered: this handler may interrupt a write to the buffered stream.
        os.write(_STANDARD_ERROR, _FINISHING)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
