"""New processes for integer sums: they end with the process that started them, however it ends.

`concurrent.futures` starts a process in `submit` and ends a broken pool in another thread. Where one process dies while
the next one starts, `submit` raises errors of closed pipes, or its future never ends.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from sordino_shared.errors import SordinoError

Item = TypeVar("Item")
Result = TypeVar("Result")


class ProcessDied(SordinoError):
    """A process was killed, or could not be started."""

    code = "process-died"
    advice = "free memory or use fewer processes, and try again"


def imap_unordered(work: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Iterator[Result]:
    """`work` of every item, in the order in which `processes` processes are done; raises what `work` raises.

    Raises ProcessDied where one of them is killed. `work`, items and results are pickled.
    """
    left = deque(items)
    with _started(min(processes, len(left))) as busy:
        for pipe in busy:
            # Not an argument of the process: until those are read `start` waits, also for one that has died.
            _send(pipe, work)
            _send(pipe, left.popleft())
        while busy:
            for done in wait(busy):
                assert isinstance(done, Connection)
                succeeded, outcome = _receive(done)
                if left:
                    _send(done, left.popleft())
                else:
                    busy.remove(done)
                if not succeeded:
                    raise outcome
                yield outcome


@contextmanager
def _started(processes: int) -> Iterator[list[Connection]]:
    """Pipes to new processes, not forks: the caller may have threads. They are killed when the block ends."""
    context = mp.get_context("spawn")
    started, pipes = [], []
    try:
        for _ in range(processes):
            ours, theirs = context.Pipe()
            pipes.append(ours)
            with theirs, _deaths_told():
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                started.append(process)
        yield list(pipes)
    finally:
        for process in started:
            process.kill()
            process.join()
        for pipe in pipes:
            pipe.close()


@contextmanager
def _deaths_told() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise ProcessDied("a process was killed or could not be started, most likely for want of memory") from error


def _send(pipe: Connection, item: object) -> None:
    with _deaths_told():
        pipe.send(item)


def _receive(pipe: Connection) -> Any:
    with _deaths_told():
        return pipe.recv()


def _serve(pipe: Connection) -> None:
    """What the process does: it receives the work, then does it for each item that comes."""
    # Ctrl-C is for the process that started this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        work = pipe.recv()
        while True:
            pipe.send(_outcome(work, pipe.recv()))


def _outcome(work: Callable[[Any], object], item: object) -> tuple[bool, object]:
    try:
        return True, work(item)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return False, error


def _end_with_parent() -> None:
    parent = mp.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
