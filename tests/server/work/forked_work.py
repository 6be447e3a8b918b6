"""What forked processes do in tests; imported by each of them, so it imports little."""

from __future__ import annotations

import os
import signal
import struct
import time
from multiprocessing.connection import Connection

from sordino_analysis.progress import Progress, ProgressCallback


def is_killed() -> None:
    """As by somebody who does not know what it does."""
    os.kill(os.getpid(), signal.SIGKILL)


def crashes() -> None:
    """As libraries do that get no memory."""
    os.kill(os.getpid(), signal.SIGSEGV)


def sleeps(seconds: float, progress: ProgressCallback) -> int:
    """Tells that it has begun, and returns its id."""
    progress(Progress(0.5, "asleep"))
    time.sleep(seconds)
    return os.getpid()


def is_killed_while_it_answers(progress: ProgressCallback) -> None:
    """Says how long a message is and begins it."""
    pipe = progress.__self__  # type: ignore[attr-defined]
    assert isinstance(pipe, Connection)
    os.write(pipe.fileno(), struct.pack("!i", 1000) + b"the first part")
    is_killed()


class Unpicklable:
    """Can be sent to a process and not be read there."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)
