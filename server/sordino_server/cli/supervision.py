"""Processes that a server starts, restarts when they die, and stops in order when it ends itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic

from sordino_server.kit.logs import logger

log = logger(__name__)

# Backoff between restarts of a process that keeps dying, up to this pause; one that ran for longer is no such process.
_LONGEST_PAUSE_S = 30.0
_FIRST_PAUSE_S = 0.5
_PARENT_CHECK_S = 1.0

Process = subprocess.Popen[bytes]


@contextmanager
def supervised(
    name: str,
    start: Callable[[], Process],
    longest_s: float,
    *,
    ended: Callable[[Process], None] = lambda process: None,
) -> Iterator[threading.Event]:
    """Run a process during the block; start it again when it dies, and have `ended` hear of each that did.

    When the block ends, or the event that it is given is set, the process gets SIGTERM and `longest_s` to follow it.
    """
    done = threading.Event()
    supervisor = threading.Thread(
        target=_supervise, args=(name, start, longest_s, ended, done), name=f"{name} supervisor"
    )
    supervisor.start()
    try:
        yield done
    finally:
        done.set()
        supervisor.join()


def _supervise(
    name: str,
    start: Callable[[], Process],
    longest_s: float,
    ended: Callable[[Process], None],
    done: threading.Event,
) -> None:
    pause = _FIRST_PAUSE_S
    while not done.is_set():
        begun = monotonic()
        try:
            process = start()
        except OSError as error:
            # Too many processes, or no memory for one more: that may pass.
            log.error(f"the {name} cannot be started yet", problem=str(error), pause_s=pause)
        else:
            while process.poll() is None and not done.wait(_FIRST_PAUSE_S):
                pass
            if done.is_set():
                _stop(name, process, longest_s)
                return
            ended(process)
            if monotonic() - begun > _LONGEST_PAUSE_S:
                pause = _FIRST_PAUSE_S
            log.error(f"the {name} died and is restarted", exit_code=process.returncode, pause_s=pause)
        done.wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def start_command(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
    """A `sordino` command as a child that ends with this process.

    It has a session of its own: Ctrl-C reaches only this process, which then stops it in order.
    """
    command = [sys.executable, "-m", "sordino_server", *arguments, "--parent", str(os.getpid())]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        start_new_session=True,
        env=None if environment is None else {**os.environ, **environment},
    )


def stop_without(parent: int, stop: Callable[[], None]) -> None:
    """Call `stop` from a thread when `parent` is no longer the parent: a killed server cannot stop its processes."""

    def watch() -> None:
        never = threading.Event()
        while os.getppid() == parent:
            never.wait(_PARENT_CHECK_S)
        stop()

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def _stop(name: str, process: Process, longest_s: float) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=longest_s)
    except subprocess.TimeoutExpired:
        log.warning(f"the {name} does not stop and is killed; another one takes over its work")
        process.kill()
        process.wait()
