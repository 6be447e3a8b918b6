"""Processes for integer sums: they end with the process that started them, however it ends."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection


@contextmanager
def process_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """New processes, not forks: the caller may have threads. What was not begun is dropped when the block raises."""
    theirs, ours = mp.Pipe(duplex=False)
    with theirs, ours, ProcessPoolExecutor(processes, mp.get_context("spawn"), _begin, (theirs,)) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(pipe: Connection) -> None:
    """Ctrl-C is for the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()


def _end_with(pipe: Connection) -> None:
    """Exit on EOF; nobody ever writes."""
    try:
        pipe.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
