"""Kills a device with SIGKILL before every statement and around every request, lets it start again, and looks.

`python client_kill_script.py FOLDER [--broken] [--series] [--every]` prints JSON: the number of points, and what went
wrong at which. The wire is clean, lossy (responses to uploads are lost) or offline (from joining on, nothing answers).
They take turns at the points, so that each is killed at every third; with `--every` each has all of them. With
`--broken` the client under test draws a fresh report for every attempt, which the search must find. With `--series` the
campaign is a series in its first period, and what the next answer waits for must be there exactly if the debit is.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

from sordino_client import Caps, Client, PlanUnavailable, PureEpsilon, Request, Response, TransportFailed
from sordino_client import _device as device_module
from sordino_client._spool import Spool, SpooledReport
from sordino_client._storage import Storage
from sordino_shared.domains import Categorical, Domain
from sordino_shared.protocol import (
    CampaignId,
    CampaignState,
    DevicePart,
    Digest,
    EveryRound,
    Manifest,
    PlanReference,
    ReportBatch,
    ReportOutcomes,
    RetryWindow,
    Rotating,
    RoundTerms,
    Task,
    ValueOf,
)
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomness import SystemRandomness

EPSILON = PureEpsilon.of(1)
DOMAIN = Domain((Categorical("colour", tuple(f"colour {i}" for i in range(4)), other=True),))
PART = DevicePart(DOMAIN, EPSILON, RandomizedResponse.for_guarantee(DOMAIN.size, EPSILON))
TERMS = RoundTerms(EPSILON, PlanReference(PART.digest, Digest.of(b"analyst")))
IS_SERIES = "--series" in sys.argv
FIRST_PERIOD = Rotating(
    start=0, period_s=2**31, slots=1, answers_max=1, value_of=ValueOf.CURRENT, late_s=0, replaces=None
)
MANIFEST = Manifest(
    name="kill",
    purpose="A test.",
    population="tests",
    created_at=0,
    domain=DOMAIN,
    device_guarantee=EPSILON,
    rounds=(TERMS,),
    assignment=FIRST_PERIOD if IS_SERIES else EveryRound(),
)
TASK = Task(
    campaign=MANIFEST.campaign,
    state=CampaignState.OPEN,
    round=0,
    device_parts=(PART.digest,),
    epoch=1,
    retry=RetryWindow(0, 0),
    answer_until=None if IS_SERIES else 2**40,
    accept_until=None,
)
CAPS = Caps(EPSILON, 30, EPSILON)


class Countdown:
    """Kills this process at the `left`-th point; 0 never does."""

    left = 0
    passed = 0

    def point(self, *_: object) -> None:
        self.passed += 1
        if self.left:
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


COUNTDOWN = Countdown()


class MortalStorage(Storage):
    """May be killed before any statement, BEGIN and COMMIT included."""

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()
        connection.set_trace_callback(COUNTDOWN.point)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        super()._prepare(connection)
        # A kill leaves to the system what was written; only a power cut would not, and waiting for the disk is long.
        connection.execute("PRAGMA synchronous = OFF")


class Wire:
    """A server whose memory is a file: what arrived is kept even if the device dies before the response."""

    def __init__(self, log: Path, kind: str) -> None:
        self._log = log
        self._kind = kind
        self.joined = False

    def send(self, request: Request) -> Response:
        COUNTDOWN.point()
        content = self._serve(request)
        COUNTDOWN.point()
        return Response(200, {}, content)

    def _serve(self, request: Request) -> bytes:
        if self._kind == "offline" and self.joined:
            raise TransportFailed("no connection")
        if request.method == "POST":
            assert request.body is not None
            with self._log.open("a") as log:
                log.write(request.body.hex() + "\n")
            if self._kind == "lossy":
                raise TransportFailed("the response was lost")
            return ReportOutcomes(1, 0, ()).content
        if "/plans/" in request.path:
            return PART.content
        return TASK.content if request.path.endswith("/task") else MANIFEST.content

    def close(self) -> None: ...


class ForgetfulSpool(Spool):
    """The fault that the search must find: every attempt carries a new draw."""

    def next(self, only: CampaignId | None = None) -> tuple[float, SpooledReport] | None:
        found = super().next(only)
        if found is None:
            return None
        wait, due = found
        payload = PART.randomizer.randomize(3, SystemRandomness())
        body = ReportBatch(PART.digest, bytes(2) + os.urandom(14), payload).content
        return wait, dataclasses.replace(due, body=body)


def live(folder: Path, kill_at: int, wire: str) -> None:
    """One start of the app: join, answer, flush, opt out of nothing, look at the account."""
    COUNTDOWN.left, COUNTDOWN.passed = kill_at, 0
    transport = Wire(folder / "log", wire)
    client = Client(
        "https://a.example",
        ledger=folder / "ledger",
        caps=CAPS,
        transport=transport,
        sleep=lambda _: None,
    )
    campaign = client.join(MANIFEST.campaign)
    transport.joined = True
    # A device that was killed before it had task and plan has nothing to answer by without a connection.
    with suppress(PlanUnavailable):
        client.answer(campaign, "colour 3")
    client.flush(patience_s=30 if wire == "clean" else 0)
    client.account()
    client.close()


def fork(folder: Path, kill_at: int, wire: str) -> bool:
    """Whether the child lived to its end; an error of its own is neither a kill nor a good end."""
    child = os.fork()
    if child == 0:
        try:
            live(folder, kill_at, wire)
        except BaseException as error:
            (folder / "error").write_text(repr(error))
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError((folder / "error").read_text())
    return code == 0


def sent(folder: Path) -> set[str]:
    log = folder / "log"
    return set(log.read_text().split()) if log.exists() else set()


def look(folder: Path, finished: bool) -> list[str]:
    """What is wrong with the ledger and the wire, read as a stranger would: with SQLite alone."""
    connection = sqlite3.connect(folder / "ledger")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    debits, bodies = [], []
    if "debits" in tables:
        debits = connection.execute("SELECT campaign, round, nano FROM debits").fetchall()
        bodies = [body.hex() for (body,) in connection.execute("SELECT body FROM reports")]
    held = connection.execute("SELECT answers, next_period FROM series").fetchall() if "series" in tables else []
    connection.close()
    wire, wrong = sent(folder), []
    if held and held != [(len(debits), len(debits))]:
        wrong.append(f"{len(debits)} debits, and the series holds {held}")
    if len(debits) != len(bodies):
        wrong.append(f"{len(debits)} debits for {len(bodies)} reports")
    if len(wire) > 1:
        wrong.append(f"{len(wire)} different reports were sent")
    if not wire <= set(bodies):
        wrong.append("a report was sent that the ledger does not hold: a lost debit")
    if finished and (len(debits), len(wire)) != (1, 1):
        wrong.append(f"in the end there are {len(debits)} debits and {len(wire)} reports")
    return wrong


def search(root: Path, wire: str, points: Iterable[int]) -> tuple[int, list[str]]:
    """These points of the first start, one by one: kill there, look, start again, look; ends after the last point."""
    wrong: list[str] = []
    for point in points:
        folder = root / f"{wire}-{point}"
        folder.mkdir()
        lived = fork(folder, point, wire)
        wrong += [f"{folder.name}, after the kill: {what}" for what in look(folder, finished=False)]
        # The second start may be killed as well, half-way; the third is left alone.
        fork(folder, max(1, point // 2), wire)
        wrong += [f"{folder.name}, after the second: {what}" for what in look(folder, finished=False)]
        if wire != "clean":
            (folder / "log").touch()
        wait_out(folder)
        fork(folder, 0, "clean")
        wrong += [f"{folder.name}, at the end: {what}" for what in look(folder, finished=True)]
        if lived:
            return point, wrong
    raise AssertionError("the points end before the first start does")


def wait_out(folder: Path) -> None:
    """Let the waiting time after a lost response pass at once."""
    with sqlite3.connect(folder / "ledger") as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'reports'").fetchone():
            connection.execute("UPDATE reports SET not_before = 0")
    connection.close()


def main() -> None:
    device_module.Storage = MortalStorage  # type: ignore[misc]
    if "--broken" in sys.argv:
        device_module.Spool = ForgetfulSpool  # type: ignore[misc]
    root = Path(sys.argv[1])
    (root / "first").mkdir()
    # Imports what a device needs, so that its thousand forks do not.
    live(root / "first", 0, "clean")
    wires = ("clean", "offline") if IS_SERIES else ("clean", "lossy", "offline")
    if "--broken" in sys.argv:
        wires = ("lossy",)
    # Every second point on one of the wires; with `--every` all points on all of them.
    step = 1 if "--every" in sys.argv else 2 * len(wires) if len(sys.argv) == 2 else len(wires)
    found = [search(root, wire, count(1 + turn * step // len(wires), step)) for turn, wire in enumerate(wires)]
    wrong = [what for _, some in found for what in some]
    json.dump({"points": [points for points, _ in found], "wrong": wrong}, sys.stdout)


main()
