"""One child process that lives on between pieces of work, so that what one of them prepared serves the next.

It imports what the work needs, which the process of the server then does not: the estimators take a second and a
hundred megabytes. It ends when nobody asked it anything for a while, and when the server does.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import traceback
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

import anyio.to_thread

from sordino_server.errors import ServerError
from sordino_server.kit.bounded_process import PRELOADED, FailedWork, ProcessFailed, RefusedWork
from sordino_server.kit.forked_process import ForkDied, ForkedProcess
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

MEMORY_MB = 2048
WITHIN_S = 120.0
_IDLE_S = 600.0
_NICENESS = 5
# Requests that may wait for the one before them; later ones get 503.
MAX_WAITING = 16


class StandingProcess:
    """Does one piece of work at a time in a process that is started by the first."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0
        self._lock = Lock()
        self._running: ForkedProcess | None = None
        self._closed = False

    async def run(self, work: str, *given: object) -> object:
        """What the function `work`, as "module:name", returns; raises `ServerError` where it refuses or takes too long.

        What it is given and returns are pickled. It refuses by raising `ServerError` or `InvalidValue`.
        """
        if self._waiting >= MAX_WAITING:
            raise ServerError(Problem.OVERLOADED, "too many questions wait to be answered; try again later")
        self._waiting += 1
        try:
            async with self._turn:
                return await anyio.to_thread.run_sync(partial(self._ask, work, given))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the process; the request that it works for gets 503, and so does every later one."""
        self._closed = True
        if (running := self._running) is not None:
            running.kill()
        with self._lock:
            self._end()

    def _ask(self, work: str, given: tuple[object, ...]) -> object:
        with self._lock:
            outcome: Any = self._outcome(work, given)
        if isinstance(outcome, RefusedWork):
            raise ServerError(outcome.problem, outcome.detail, **outcome.extra)
        if isinstance(outcome, FailedWork):
            raise ProcessFailed(outcome.trace)
        return outcome[0]

    def _outcome(self, work: str, given: tuple[object, ...]) -> object:
        """What the process says; it is started again where it has ended since it was asked last."""
        try:
            return self._asked_once(work, given)
        except ForkDied:
            self._end()
        try:
            return self._asked_once(work, given)
        except ForkDied as died:
            self._end()
            if died.by_itself:
                return self._too_much()
            return RefusedWork(Problem.OVERLOADED, f"the process that answers {died}; try again later")

    def _asked_once(self, work: str, given: tuple[object, ...]) -> object:
        running = self._running or self._start()
        running.send((work, given))
        if running.poll(self._within_s):
            return running.receive()
        self._end()
        return self._too_much()

    def _start(self) -> ForkedProcess:
        if not self._closed:
            self._running = ForkedProcess.start(PRELOADED, _serve)
        # Asked again: `close` may have come before it could know this process.
        if self._closed or self._running is None:
            raise ServerError(Problem.OVERLOADED, "the server is shutting down; try again later")
        return self._running

    def _too_much(self) -> RefusedWork:
        return RefusedWork(
            Problem.INVALID_REQUEST,
            f"answering takes more than {self._within_s:g} seconds or {MEMORY_MB} MiB: ask fewer questions at a time",
        )

    def _end(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            running.end()


def _serve(pipe: Connection) -> None:
    """The process: answers until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    # Not the address space, of which libraries reserve more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB << 20, MEMORY_MB << 20))
    while pipe.poll(_IDLE_S):
        try:
            work, given = pipe.recv()
        except EOFError:
            return
        pipe.send(_done(work, given))


def _done(work: str, given: tuple[object, ...]) -> object:
    module, _, name = work.partition(":")
    try:
        return (getattr(import_module(module), name)(*given),)
    except ServerError as error:
        return RefusedWork(error.problem, error.detail, error.extra)
    except InvalidValue as error:
        return RefusedWork(Problem.INVALID_REQUEST, str(error))
    except MemoryError:
        return RefusedWork(
            Problem.INVALID_REQUEST, f"answering takes more than {MEMORY_MB} MiB: ask fewer questions at a time"
        )
    except Exception:
        return FailedWork(traceback.format_exc())
