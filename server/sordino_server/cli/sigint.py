"""Ctrl-C in a command that has a best so far: asked once it ends in order, asked twice at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STANDARD_ERROR = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FINISHING = b"\nfinishing with the best so far; once more ends it without a plan\n"


@contextmanager
def finishing_when_asked() -> Iterator[Callable[[], bool]]:
    """A function that is true once SIGINT or SIGTERM came in the block; the second one raises KeyboardInterrupt."""
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        # Not through a buffer, which may be in the middle of a write that this handler interrupts.
        os.write(_STANDARD_ERROR, _FINISHING)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
