"""The side of a forked process: limits, and what becomes of each piece of work.

A piece of work is a function and its arguments, pickled; the function travels as its name and is imported here.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from sordino_analysis.progress import Progress
from sordino_server.errors import ServerError
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

# After so long without work a process ends; the next work starts another one.
_IDLE_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one process: data in MiB, seconds of the processor over its whole life, and how far it stands back."""

    memory_mb: int
    cpu_s: int | None = None
    niceness: int = 0

    def apply(self) -> None:
        """Limit this process."""
        os.nice(self.niceness)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # Not the address space, of which libraries reserve more than they use.
        resource.setrlimit(resource.RLIMIT_DATA, (self.memory_mb << 20, self.memory_mb << 20))
        if self.cpu_s is not None:
            # The first limit ends the process with a signal that nobody else sends.
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_s, self.cpu_s + 1))


@dataclass(frozen=True)
class Done:
    """What the work returned."""

    result: Any


@dataclass(frozen=True)
class WorkRefused:
    """Why the work has no result: the parts of a `ServerError`."""

    problem: Problem
    detail: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OutOfMemory:
    """The work needs more memory than its limits leave."""


@dataclass(frozen=True)
class Failed:
    """An unexpected error as text: its own class may not be importable elsewhere."""

    name: str
    trace: str


# Left out of an image that only serves.
_MATHEMATICS = frozenset({"scipy", "clarabel"})
_WITHOUT_MATHEMATICS = WorkRefused(
    Problem.UNAVAILABLE,
    "this server is installed without the libraries that check and compute: send the request to one that has them",
)

Outcome = Done | WorkRefused | OutOfMemory | Failed


@dataclass(frozen=True)
class WorkCall:
    """A function and its arguments; with `reports` it gets a last argument, which sends progress."""

    work: Callable[..., object]
    given: tuple[object, ...]
    reports: bool

    def outcome(self, send: Callable[[Progress], None]) -> Outcome:
        """Do the work."""
        given = (*self.given, send) if self.reports else self.given
        return Done(self.work(*given))


def serve(pipe: Connection, limits: Limits) -> None:
    """The process: do what comes through the pipe, one after the other, until nothing comes or nobody listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limits.apply()
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(pipe, calls), daemon=True).start()
    while True:
        try:
            pickled = calls.get(timeout=_IDLE_S)
        except Empty:
            return
        pipe.send(_outcome(pickled, pipe.send))


def _read(pipe: Connection, calls: SimpleQueue[bytes]) -> None:
    """Take calls; exit on EOF, also while one is worked on: the process that asked has died or lost interest."""
    while True:
        try:
            calls.put(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)


def _outcome(pickled: bytes, send: Callable[[Progress], None]) -> Outcome:
    try:
        call: WorkCall = pickle.loads(pickled)
        return call.outcome(send)
    except ServerError as error:
        return WorkRefused(error.problem, error.detail, error.extra)
    except InvalidValue as error:
        return WorkRefused(Problem.INVALID_REQUEST, str(error))
    except MemoryError:
        return OutOfMemory()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _MATHEMATICS:
            return _WITHOUT_MATHEMATICS
        return Failed(type(error).__name__, traceback.format_exc())
