"""A shuffler and a collector in miniature as real processes, to be killed and started again."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from sordino_shuffler.statements import SigningKey
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.shuffler.small_collector import SmallCollector

# Runs SmallCollector of the pickled terms on a port until it is killed.
_COLLECTOR = """
import pickle, sys, time
from pathlib import Path
from tests.shuffler.small_collector import SmallCollector
with SmallCollector(**pickle.loads(Path(sys.argv[1]).read_bytes())).running(int(sys.argv[2])):
    while True:
        time.sleep(60)
"""


def wait_for(answered: Any, what: str) -> None:
    """Wait until `answered()` is true."""
    until = time.monotonic() + PATIENCE_S
    while not answered():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


def answers(url: str) -> bool:
    """Whether a server says 200 there."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


class Setup:
    """Both programs on one machine, each with its own folder, and their ports."""

    def __init__(self, folder: Path, **terms: Any) -> None:
        self.folder = folder
        self.shuffler_port, self.collector_port, self.metrics_port = free_ports(3)
        self.url = f"http://127.0.0.1:{self.shuffler_port}"
        key = SigningKey.create(folder / "kept" / "signing.key")
        (folder / "collector").mkdir()
        self.terms = {
            "shuffler_key": key.public,
            "shuffler_url": self.url,
            "folder": folder / "collector",
            "secrets": os.urandom(64),
            "created_at": int(time.time()),
            **terms,
        }
        (folder / "terms").write_bytes(pickle.dumps(self.terms))
        collector = self.collector()
        self.campaign = collector.campaign
        (folder / "campaigns.toml").write_text(
            f'[[campaign]]\nid = "{self.campaign}"\n'
            f'collector = "http://127.0.0.1:{self.collector_port}"\nkey = "{collector.key}"\n'
        )
        self.environment = os.environ | {
            "SORDINO_SHUFFLER_FOLDER": str(folder / "sealed"),
            "SORDINO_SHUFFLER_KEPT": str(folder / "kept"),
            "SORDINO_SHUFFLER_CAMPAIGNS": str(folder / "campaigns.toml"),
            "SORDINO_SHUFFLER_PORT": str(self.shuffler_port),
            "SORDINO_SHUFFLER_METRICS_PORT": str(self.metrics_port),
            "SORDINO_SHUFFLER_UPLOADS_PER_S": "0",
            "SORDINO_SHUFFLER_LEAST_FREE_MB": "1",
            "SORDINO_SHUFFLER_REFRESH_S": "1",
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def collector(self) -> SmallCollector:
        """What the collector has on its disk, read by the test."""
        return SmallCollector(**self.terms)

    def start(self, name: str) -> None:
        """Start `shuffler` or `collector`."""
        program = [sys.executable, "-m", "sordino_shuffler", "serve"]
        if name == "collector":
            program = [sys.executable, "-c", _COLLECTOR, str(self.folder / "terms"), str(self.collector_port)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(program, env=self.environment, stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def wait_until_served(self) -> None:
        """Until the shuffler serves the campaign."""
        wait_for(lambda: answers(f"{self.url}/v1/campaigns/{self.campaign}/task"), "the shuffler")

    def wait_for_statement(self, number: int = 0) -> SmallCollector:
        """The collector once it has the round's statement."""
        path = self.folder / "collector" / f"statement-{number}-0"
        wait_for(path.exists, "the statement")
        return self.collector()

    def log(self) -> str:
        """What the shuffler wrote."""
        return (self.folder / "shuffler.log").read_text()

    def close(self) -> None:
        """End what runs."""
        for name in list(self.running):
            self.kill(name)
