"""What forked processes do in tests; imported by each of them, so it imports little."""

from __future__ import annotations

import os
import signal
import struct
import time
from multiprocessing.connection import Connection


def is_killed() -> None:
    """As by somebody who does not know what it does."""
    os.kill(os.getpid(), signal.SIGKILL)


def crashes() -> None:
    """As libraries do that get no memory."""
    os.kill(os.getpid(), signal.SIGSEGV)


def sleeps(pipe: Connection, seconds: float) -> None:
    """Says its id before."""
    pipe.send(os.getpid())
    time.sleep(seconds)


def exits(pipe: Connection, code: int) -> None:
    """Says the code before."""
    pipe.send(code)
    pipe.close()
    os._exit(code)


def is_killed_while_it_answers(pipe: Connection) -> None:
    """Says how long a message is and begins it."""
    os.write(pipe.fileno(), struct.pack("!i", 1000) + b"the first part")
    is_killed()
