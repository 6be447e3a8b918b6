"""The real server as a process of its own, for as long as a simulation needs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sordino_analysis.figures import chosen
from sordino_server.cli.simulation.progress import Stages
from sordino_shared.errors import SordinoError

START_S = 60.0
STOP_S = 25.0
_SORDINO = (sys.executable, "-m", "sordino_server")
_ADDRESS = re.compile(rb"listening on (http://\S+)\n")


class ServerFailed(SordinoError):
    """The server process did not do what it was started for; `log` is the end of what it wrote."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(f"{what}; it wrote:\n{log}" if log else what)
        self.log = log


@contextmanager
def local_server(folder: Path, stages: Stages, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Address of `sordino serve` on a free loopback port with a database in `folder`; stopped when the block ends.

    `settings` are added to its environment.
    """
    log, command = folder / "server.log", [*_SORDINO, "serve", "--host", "127.0.0.1", "--port", "0"]
    with running(command, log, {**environment(folder), **(settings or {})}) as process:
        with stages.stage("starting the server"):
            address = _address(process, log)
        yield address


@contextmanager
def running(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the folder of its `log`, stopped when the block ends.

    It gets a session of its own, so that Ctrl-C reaches this process only, which then stops the other in order.
    """
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _stop(process)


def create_key(folder: Path, role: str = "admin", *options: str) -> str:
    """The text of a new operator's key, made in the database of `folder` as an operator would."""
    command = [*_SORDINO, "keys", "create", "--role", role, "--name", "simulation", *options, "--json"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    found = re.search(r"sdo_[A-Za-z0-9_-]+", done.stdout)
    if done.returncode or found is None:
        raise ServerFailed("an operator key could not be created", done.stderr.strip())
    return found[0]


def environment(folder: Path) -> Mapping[str, str]:
    """This process's environment without its server settings, a database in `folder`, and little to wait for."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    database = f"sqlite:///{folder / 'sordino.sqlite3'}"
    quick = {"SORDINO_RETRY_MIN_S": "0", "SORDINO_RETRY_MAX_S": "1", "SORDINO_DRAIN_S": "0", "SORDINO_LOG": "off"}
    return kept | quick | {"SORDINO_DATABASE_URL": database, "SORDINO_ROUND_KEYS": str(folder / "round-keys")}


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if (found := _ADDRESS.search(log.read_bytes())) is not None:
            return found[1].decode()
        if process.poll() is not None:
            raise ServerFailed(f"the server ended with code {process.returncode}", end_of(log))
        time.sleep(0.05)
    raise ServerFailed(f"the server named no address within {chosen(START_S)} s", end_of(log))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end; after a while end its whole session, a worker included."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_of(log: Path) -> str:
    """The last lines that a process wrote."""
    return log.read_text(errors="replace")[-2000:].strip()
