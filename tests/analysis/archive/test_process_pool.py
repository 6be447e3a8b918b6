"""Processes give every result once, or say that one of them was killed, whenever that was."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from functools import partial

import pytest

from sordino_analysis.archive.process_pool import ProcessDied, imap_unordered
from tests.patience import PATIENCE_S

# Starts two processes that sleep, says their ids and waits for them.
PARENT = """
import multiprocessing as mp, threading, time
from sordino_analysis.archive.process_pool import imap_unordered

def tell():
    while len(mp.active_children()) < 2:
        time.sleep(0.01)
    print(*(process.pid for process in mp.active_children()), flush=True)

if __name__ == "__main__":
    threading.Thread(target=tell).start()
    list(imap_unordered(time.sleep, [600, 600], 2))
"""


def reciprocal(number: int) -> float:
    return 1 / number


def dies_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def sleeps(_: bytes, seconds: float) -> None:
    time.sleep(seconds)


def failing_in_ways_of_its_own(number: int) -> int:
    raise FileNotFoundError(2, "there is no part", str(number))


@pytest.mark.parametrize("items", [0, 1, 2, 7])
def test_every_item_has_one_result(items: int) -> None:
    assert sorted(imap_unordered(abs, range(-items, 0), 2)) == list(range(1, items + 1))
    assert not mp.active_children()


def test_what_the_work_raises_is_raised_with_its_trace() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(imap_unordered(reciprocal, [2, 0, 1], 2))
    assert "in reciprocal" in caught.value.__notes__[0]
    # Not taken for the end of a process, though it is an error of the system.
    with pytest.raises(FileNotFoundError, match="there is no part"):
        list(imap_unordered(failing_in_ways_of_its_own, [1, 2], 2))
    assert not mp.active_children()


def test_who_wants_no_more_results_ends_the_processes() -> None:
    results = imap_unordered(time.sleep, [0, 600, 600], 2)
    next(results)
    assert isinstance(results, Generator)
    results.close()
    assert not mp.active_children()


def test_a_process_that_dies_at_its_work_is_told() -> None:
    with pytest.raises(ProcessDied, match="memory"):
        list(imap_unordered(dies_at_three, range(6), 2))
    assert not mp.active_children()


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_processes_killed_while_others_start_are_told(after_s: float) -> None:
    """Before this was one loop, 6 % of runs met errors of closed pipes instead: 20 starts would tell 7 times in 10.

    The work takes more bytes than a pipe holds: as an argument of the process it would be waited for without end.
    """
    ended = threading.Event()

    def kill() -> None:
        ended.wait(after_s)
        while not ended.wait(0.001):
            for process in mp.active_children():
                process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(4):
            with pytest.raises(ProcessDied):
                list(imap_unordered(partial(sleeps, bytes(1 << 20)), [PATIENCE_S] * 3, 3))
    finally:
        ended.set()
        killer.join()


def test_they_end_with_a_parent_that_is_killed() -> None:
    """They have its standard output, which ends when the last of them does."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert len(parent.stdout.readline().split()) == 2
        parent.kill()
        assert parent.communicate(timeout=PATIENCE_S)[0] == ""
