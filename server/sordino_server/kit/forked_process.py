"""A process that is forked for some work, with a pipe to it: whatever its death does to start or pipe is one error.

Anybody may kill it, or the fork server, at any moment. Then a start meets closed sockets and pipes, and a message may
have come by half.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any

from sordino_server.kit.fork_server import fork_context
from sordino_shared.errors import SordinoError

# A fork server that was killed is started again by the next start that learns of its end.
_STARTS = 3
_PAUSE_S = 0.2
# Between the last that a process can say and its end.
_ENDING_S = 10.0
# What `multiprocessing` tells where the fork server died before it could tell how its fork ended.
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


class ForkedProcess:
    """One process, from its start to `end`, which somebody must call; also `kill` it from any thread."""

    def __init__(self, process: ForkServerProcess, pipe: Connection) -> None:
        self._process = process
        self._pipe = pipe
        self._ended = False

    @classmethod
    def start(cls, preloaded: Sequence[str], work: Callable[..., None], *given: object) -> ForkedProcess:
        """A fork of one that has imported `preloaded`; calls `work` with its end of the pipe and what is given.

        Raises ForkDied where none can be started.
        """
        for _ in range(_STARTS - 1):
            with suppress(EOFError, OSError):
                return cls._start_once(preloaded, work, given)
            time.sleep(_PAUSE_S)
        try:
            return cls._start_once(preloaded, work, given)
        except (EOFError, OSError) as error:
            raise ForkDied(f"could not be started ({error})") from error

    @classmethod
    def _start_once(
        cls, preloaded: Sequence[str], work: Callable[..., None], given: tuple[object, ...]
    ) -> ForkedProcess:
        context = fork_context(preloaded)
        # Not the pipe of a start that failed: its process may live, until it finds that nobody listens.
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, *given), daemon=True)
        try:
            with theirs, _PROCESSES:
                process.start()
        except BaseException:
            ours.close()
            raise
        return cls(process, ours)

    def send(self, message: object) -> None:
        """Pickles the message; raises ForkDied where nobody can read it."""
        try:
            self._pipe.send(message)
        except OSError as error:
            raise self._died() from error

    def poll(self, within_s: float) -> bool:
        """Whether there is a message, or an end, within so many seconds."""
        return self._pipe.poll(within_s)

    def receive(self) -> Any:
        """The next message; raises ForkDied where there is no whole one any more."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error

    def kill(self) -> None:
        """A thread that waits for the process hears of its death; does nothing after `end`."""
        with _PROCESSES:
            if not self._ended:
                self._process.kill()

    def end(self) -> None:
        """Kill the process where it lives; it cannot be asked any more."""
        with _PROCESSES:
            if self._ended:
                return
            self._ended = True
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._process.close()

    def _died(self) -> ForkDied:
        wait([self._process.sentinel], _ENDING_S)
        with _PROCESSES:
            self._process.kill()
            self._process.join()
            return ForkDied.of(self._process.exitcode)
