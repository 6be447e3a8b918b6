"""The real shuffler as a process beside a temporary server: a program of another distribution, never imported."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sordino_analysis.figures import chosen
from sordino_client import HttpTransport, Request
from sordino_client import TransportFailed as NotReached
from sordino_server.cli.simulation.server_process import START_S, ServerFailed, end_of, running
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Task

_MODULE = "sordino_shuffler"
_PROGRAM = (sys.executable, "-m", _MODULE)
_PREFIX = "SORDINO_"


def check_installed() -> None:
    """Raise InvalidValue where the program cannot be started."""
    if importlib.util.find_spec(_MODULE) is None:
        raise InvalidValue("sordino-shuffler is not installed: run `pip install ./shared ./shuffler`", _MODULE)


@dataclass(frozen=True)
class LocalShuffler:
    """Where a shuffler keeps its files and is going to be served; `key` signs its statements, 64 hex digits."""

    folder: Path
    port: int
    key: str

    @classmethod
    def prepared(cls, folder: Path) -> LocalShuffler:
        """A new signing key in `folder`, made as an operator does, and a free loopback port."""
        folder.mkdir()
        port = _free_port()
        command = [*_PROGRAM, "keys", "--create", "--json"]
        done = subprocess.run(
            command, cwd=folder, env=_environment(folder, port), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ServerFailed("the shuffler made no signing key", done.stderr.strip())
        return cls(folder, port, json.loads(done.stdout)["public_key"])

    @property
    def address(self) -> str:
        """Where devices report to."""
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def serving(self, campaign: str, collector: str, key: str) -> Iterator[None]:
        """`sordino-shuffler serve` with one campaign while the block runs; `key` is the collector's key for it."""
        (self.folder / "campaigns.toml").write_text(
            f'[[campaign]]\nid = "{campaign}"\ncollector = "{collector}"\nkey = "{key}"\n', encoding="utf-8"
        )
        log = self.folder / "shuffler.log"
        with running([*_PROGRAM, "serve"], log, _environment(self.folder, self.port)) as process:
            self._await(process, campaign, log)
            yield

    def _await(self, process: subprocess.Popen[bytes], campaign: str, log: Path) -> None:
        deadline = time.monotonic() + START_S
        while not self._serves(campaign):
            if process.poll() is not None:
                raise ServerFailed(f"the shuffler ended with code {process.returncode}", end_of(log))
            if time.monotonic() > deadline:
                raise ServerFailed(f"the shuffler served nothing within {chosen(START_S)} s", end_of(log))
            time.sleep(0.1)

    def _serves(self, campaign: str) -> bool:
        transport = HttpTransport(self.address, allow_http=True)
        try:
            asked = Request(method="GET", path=f"/v1/campaigns/{campaign}/task", limit=Task.limit)
            return transport.send(asked).status == 200
        except NotReached:
            return False
        finally:
            transport.close()


def _environment(folder: Path, port: int) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
    own = {
        "FOLDER": str(folder / "sealed"),
        "KEPT": str(folder / "kept"),
        "CAMPAIGNS": str(folder / "campaigns.toml"),
        "PORT": str(port),
        "METRICS_PORT": "0",
        "UPLOADS_PER_S": "0",
        "LEAST_FREE_MB": "1",
        "REFRESH_S": "1",
        "SHUTDOWN_S": "1",
    }
    return kept | {f"SORDINO_SHUFFLER_{name}": value for name, value in own.items()}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
    return port
