"""The `sordino` command as its users run it: processes of their own, with nothing but an environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S

COMMAND = (sys.executable, "-m", "sordino_server")
_ADDRESS = re.compile(r"listening on (http://\S+)\n")


@dataclass
class Installation:
    """Commands that share a folder and an environment; what is still running at the end is killed."""

    folder: Path
    environment: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def run(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command that ends, with exit code `code`."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=self.environment | environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    def json(self, *arguments: str, **environment: str) -> Any:
        """What a command prints with --json."""
        return json.loads(self.run(*arguments, "--json", **environment).stdout)

    def start(self, *arguments: str, **environment: str) -> tuple[subprocess.Popen[bytes], Path]:
        """A command that goes on, and the file with what it writes."""
        log = self.folder / f"log-{len(self.running)}"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=self.environment | environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        self.running.append(process)
        return process, log

    def serve(self, *arguments: str, **environment: str) -> tuple[subprocess.Popen[bytes], str]:
        """A server, and its address once it takes connections."""
        process, log = self.start("serve", "--port", "0", *arguments, **environment)
        return process, await_text(process, log, _ADDRESS)

    def serve_several(self, count: int, **environment: str) -> list[tuple[subprocess.Popen[bytes], str]]:
        """Servers without workers that start at the same time."""
        started = [self.start("serve", "--port", "0", "--no-worker", **environment) for _ in range(count)]
        return [(process, await_text(process, log, _ADDRESS)) for process, log in started]

    def operator(self, address: str) -> Mapping[str, str]:
        """The environment of the commands that work on the server at `address` with a new admin key."""
        key = self.json("keys", "create", "--role", "admin", "--name", "test")["key"]
        return {"SORDINO_SERVER": address, "SORDINO_KEY": key}


def await_text(process: subprocess.Popen[bytes], log: Path, pattern: re.Pattern[str]) -> str:
    """The first group of `pattern`, as soon as the process has written it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (found := pattern.search(log.read_text())) is not None:
            return found[found.re.groups and 1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"{pattern.pattern!r} was not written (exit code {process.poll()}): {log.read_text()}")


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """Commands on a SQLite file that does not exist yet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    database = f"sqlite:///{tmp_path}/sordino.sqlite3"
    quick = {"SORDINO_LEASE_S": "2", "SORDINO_DRAIN_S": "0"}
    environment = {
        "SORDINO_DATABASE_URL": database,
        "SORDINO_LOG_KEY": f"{tmp_path}/log.key",
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    commands = Installation(tmp_path, kept | quick | environment)
    yield commands
    for process in commands.running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    """Waits until a condition holds."""

    def wait(condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"still not: {what}"
            time.sleep(0.05)

    return wait


@pytest.fixture(scope="session")
def written() -> Callable[..., str]:
    """Waits until a process has written what a pattern describes, and gives its first group."""
    return await_text


@pytest.fixture
def workload_file(tmp_path: Path) -> Path:
    """Three questions about a delay in minutes."""
    path = tmp_path / "delays.yaml"
    path.write_text(
        "name: delays\ndomain:\n  - {name: delay, kind: ordinal, edges: [0, 15, 60], unit: min}\nqueries: prefix\n"
    )
    return path
