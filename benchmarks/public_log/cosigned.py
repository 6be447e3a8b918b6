"""Seconds from a campaign's creation to a checkpoint that two witnesses cosigned: three servers on loopback.

python -m benchmarks.public_log.cosigned
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from sordino_server.config import Settings
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.kit.migrations import upgrade
from sordino_server.public_log import setup
from sordino_server.public_log.signing import NoteSigner, make_key_file, read_key_file
from tests.server.conftest import RunningServer, served

RUNS = 20
_PATIENCE_S = 60.0


def main() -> None:
    """Measure and print."""
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        origin, key = "telemetry.example/log", folder / "log.key"
        url = _logging(folder / "log.sqlite3", origin, key)
        logged = NoteSigner.of_log(origin, read_key_file(key)).key
        listed = [_witness(stack, folder, number, str(logged)) for number in (1, 2)]
        server = stack.enter_context(served(url, log_key=key, witnesses=", ".join(listed)))
        plan = server.ready_plan()["id"]
        stack.enter_context(LogKeeper(server.database, server.clock, server.settings).running())
        seconds = sorted(_seconds(server, plan, number) for number in range(RUNS))
    print(
        f"created to cosigned by two witnesses: median {median(seconds):.2f} s, longest {seconds[-1]:.2f} s of {RUNS}"
    )


def _logging(file: Path, origin: str, key: Path) -> str:
    """The URL of a new database with a log."""
    url = f"sqlite:///{file}"
    database = Database(url)
    upgrade(database)
    make_key_file(key)
    setup.begin(Settings(log_key=key, log_origin=origin), database, key, WallClock().now())
    database.close()
    return url


def _witness(stack: ExitStack, folder: Path, number: int, logged: str) -> str:
    """A server that witnesses the log: its address and its key, as SORDINO_WITNESSES has them."""
    origin, key = f"witness-{number}.example/log", folder / f"witness-{number}.key"
    url = _logging(folder / f"witness-{number}.sqlite3", origin, key)
    server = stack.enter_context(served(url, log_key=key, witnessed_logs=logged))
    own = NoteSigner.of_witness(origin, read_key_file(key)).key
    return f"{server.address} {own}"


def _seconds(server: RunningServer, plan: str, number: int) -> float:
    """From the request that creates a campaign until both witnesses have its entry."""
    # At another moment of the worker's second.
    sleep(0.05 * number)
    terms = {"name": f"run {number}", "purpose": "We measure.", "population": "all", "plan_request": plan}
    begun = monotonic()
    server.api.post("/v1/campaigns", json=terms).raise_for_status()
    while monotonic() - begun < _PATIENCE_S:
        found = server.anonymous.get("/v1/log/witnesses").json()
        if found["waiting"] == 0 and all(each["size"] == number + 1 for each in found["witnesses"]):
            return monotonic() - begun
        sleep(0.02)
    raise TimeoutError(f"not cosigned within {_PATIENCE_S:g} s: {found}")


if __name__ == "__main__":
    main()
