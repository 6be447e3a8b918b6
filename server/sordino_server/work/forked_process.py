"""One forked process that does pieces of work: whatever its death does to start or pipe is one error.

Anybody may kill it, or the fork server, at any moment. Then a start meets closed sockets and pipes, and a message may
have come by half.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any, TypeVar, TypeVarTuple, assert_never

from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server.errors import ServerError
from sordino_server.work.fork_server import fork_context
from sordino_server.work.work_call import Done, Failed, Limits, Outcome, OutOfMemory, WorkCall, WorkRefused, serve
from sordino_shared.errors import SordinoError

T = TypeVar("T")
Given = TypeVarTuple("Given")

# A fork server that was killed is started again by the next start that learns of its end.
_STARTS = 3
_PAUSE_S = 0.2
# Between the last that a process can say and its end.
_ENDING_S = 10.0
# How often `progress` is called while nothing is new, so that it can raise and stop the work.
_HEARTBEAT_S = 0.25
# What `multiprocessing` reports where the fork server died before it could report how its fork ended.
_UNTOLD = 255
# Each start looks at all processes that have not ended, which another thread must not close meanwhile.
_PROCESSES = threading.Lock()


class ForkDied(SordinoError):
    """The process can say no more; `by_itself` unless somebody killed it, or it was never started."""

    def __init__(self, how: str, by_itself: bool = False) -> None:
        super().__init__(how)
        self.by_itself = by_itself

    @classmethod
    def of(cls, exit_code: int | None) -> ForkDied:
        """The one that ended with the exit code, which is minus the signal that ended it."""
        if exit_code in (None, _UNTOLD):
            return cls("died (with the process that forks others)")
        number = -(exit_code or 0)
        how = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {exit_code}"
        return cls(f"died ({how})", by_itself=number != signal.SIGKILL)


class WorkOverdue(SordinoError):
    """The work did not end in time; the process still does it, and must be ended."""


class WorkTooLarge(SordinoError):
    """The work needs more memory than the process may have."""


class WorkFailed(SordinoError):
    """The work met the unexpected error `name`; the message is its trace."""

    def __init__(self, name: str, trace: str) -> None:
        super().__init__(trace)
        self.name = name


class ForkedProcess:
    """One process, from its start to `end`, which somebody must call; also `kill` it from any thread."""

    def __init__(self, process: ForkServerProcess, pipe: Connection) -> None:
        self._process = process
        self._pipe = pipe
        self._ended = False

    @classmethod
    def start(cls, limits: Limits) -> ForkedProcess:
        """A fork of the process that has imported what `preload` names; raises ForkDied where none can be started."""
        for _ in range(_STARTS - 1):
            with suppress(EOFError, OSError):
                return cls._start_once(limits)
            time.sleep(_PAUSE_S)
        try:
            return cls._start_once(limits)
        except (EOFError, OSError) as error:
            raise ForkDied(f"could not be started ({error})") from error

    @classmethod
    def _start_once(cls, limits: Limits) -> ForkedProcess:
        context = fork_context()
        # Not the pipe of a start that failed: its process may live, until it finds that nobody listens.
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, limits), daemon=True)
        try:
            with theirs, _PROCESSES:
                process.start()
        except BaseException:
            ours.close()
            raise
        return cls(process, ours)

    def call(self, work: Callable[[*Given], T], *given: *Given, within_s: float) -> T:
        """What `work` returns; function, arguments and result are pickled.

        Raises ServerError and InvalidValue (as a ServerError) where the work does, ForkDied, WorkOverdue, WorkTooLarge
        and WorkFailed.
        """
        self._send(WorkCall(work, given, reports=False))
        if not self._pipe.poll(within_s):
            raise WorkOverdue(f"the work did not end within {within_s:g} seconds")
        result: T = _result(self._receive())
        return result

    def follow(
        self,
        progress: ProgressCallback,
        work: Callable[[*Given, ProgressCallback], T],
        *given: *Given,
        within_s: float,
    ) -> T:
        """The same with progress: called with all that the work reports, and with its last several times a second.

        An error from `progress` leaves the work where it is: end the process. Raises as `call` does.
        """
        self._send(WorkCall(work, given, reports=True))
        latest = time.monotonic() + within_s
        message: Any = Progress(0.0, "starting")
        while isinstance(message, Progress):
            progress(message)
            if time.monotonic() > latest:
                raise WorkOverdue(f"the work did not end within {within_s:g} seconds")
            if self._pipe.poll(_HEARTBEAT_S):
                message = self._receive()
        result: T = _result(message)
        return result

    def kill(self) -> None:
        """A thread that waits for the process hears of its death; does nothing after `end`."""
        with _PROCESSES:
            if not self._ended:
                self._process.kill()

    def end(self) -> None:
        """Kill the process where it lives; it takes no more work."""
        with _PROCESSES:
            if self._ended:
                return
            self._ended = True
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._process.close()

    def _send(self, call: WorkCall) -> None:
        try:
            self._pipe.send(call)
        except OSError as error:
            raise self._died() from error

    def _receive(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error

    def _died(self) -> ForkDied:
        wait([self._process.sentinel], _ENDING_S)
        with _PROCESSES:
            self._process.kill()
            self._process.join()
            return ForkDied.of(self._process.exitcode)


def _result(outcome: Outcome) -> Any:
    match outcome:
        case Done(result):
            return result
        case WorkRefused(problem, detail, extra):
            raise ServerError(problem, detail, **extra)
        case OutOfMemory():
            raise WorkTooLarge("the work needs more memory than it may have")
        case Failed(name, trace):
            raise WorkFailed(name, trace)
        case _:
            assert_never(outcome)
