"""`python -m benchmarks.console`: a real `sordino serve` on loopback, and 200 pages that show an open campaign."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from rich.console import Console

from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.server_process import create_key, environment, local_server
from sordino_server.console import sessions
from sordino_server.console.cookies import SESSION as COOKIE
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database

_WORKLOAD = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}],
    "queries": "prefix",
}
_EVERY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Processor time of the server's process, as a share of one core, and milliseconds of an answer."""

    consoles: int
    idle_share: float
    share: float
    answers: int
    answer_bytes: int
    p50_ms: float
    p99_ms: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.console", description=__doc__)
    parser.add_argument("--consoles", type=int, default=200, help="pages that ask every 2 seconds")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long they are open")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), asked.consoles, asked.seconds)
    if asked.json:
        print(json.dumps(asdict(measured), indent=1))
        return
    print("| consoles | idle, of a core | with consoles | answers | bytes | p50 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    times = f"{measured.p50_ms:.1f} | {measured.p99_ms:.1f}"
    shares = f"{measured.idle_share:.2%} | {measured.share:.2%}"
    print(f"| {measured.consoles} | {shares} | {measured.answers} | {measured.answer_bytes} | {times} |")


def measure(folder: Path, consoles: int, seconds: float) -> Measured:
    """Processor time of a server of an open campaign, without and with `consoles` that each have their own session."""
    with _server(folder) as (address, pid):
        key = create_key(folder)
        campaign = _open_campaign(address, key)
        identifiers = _sessions(folder, key, consoles)
        # What the first requests import and connect is not counted.
        asyncio.run(_watched(address, campaign, identifiers, _EVERY_S))
        idle = _cpu_s(pid)
        time.sleep(seconds)
        before = _cpu_s(pid)
        times, size = asyncio.run(_watched(address, campaign, identifiers, seconds))
        after = _cpu_s(pid)
    cuts = statistics.quantiles(times, n=100)
    return Measured(
        consoles=consoles,
        idle_share=(before - idle) / seconds,
        share=(after - before) / seconds,
        answers=len(times),
        answer_bytes=size,
        p50_ms=1000 * cuts[49],
        p99_ms=1000 * cuts[98],
    )


@contextmanager
def _server(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a server."""
    children = set(_children())
    with local_server(folder, Stages(Console(stderr=True, quiet=True))) as address:
        (pid,) = set(_children()) - children
        yield address, pid


def _children() -> list[int]:
    return [int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _open_campaign(address: str, key: str) -> str:
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60) as api:
        workload = api.post("/v1/workloads", json=_WORKLOAD).raise_for_status().json()["id"]
        order = {"workload": workload, "epsilon": 1, "mechanism": "randomized_response"}
        plan = api.post("/v1/plan-requests", json=order).raise_for_status().json()["id"]
        while api.get(f"/v1/plan-requests/{plan}").raise_for_status().json()["state"] != "ready":
            time.sleep(0.2)
        terms = {"name": "delays", "purpose": "We ask.", "population": "travellers", "plan_request": plan}
        campaign: str = api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
        api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    return campaign


def _sessions(folder: Path, key: str, count: int) -> list[str]:
    """Sessions of one operator, made in the database: sign-ins from one address are limited."""
    settings: Mapping[str, str] = environment(folder)
    database = Database(settings["SORDINO_DATABASE_URL"])
    with database.write("sign in") as session:
        operator = keys.authenticate(session, key)
        identifiers = [sessions.begin(session, operator, int(time.time())) for _ in range(count)]
    database.close()
    return identifiers


async def _watched(address: str, campaign: str, identifiers: list[str], seconds: float) -> tuple[list[float], int]:
    """Seconds of every answer, and the size of one, with a page for each session."""
    end = time.monotonic() + seconds
    each = [
        _page(address, campaign, identifier, end, _EVERY_S * index / len(identifiers))
        for index, identifier in enumerate(identifiers)
    ]
    found = await asyncio.gather(*each)
    return [one for times, _ in found for one in times], max(size for _, size in found)


async def _page(address: str, campaign: str, identifier: str, end: float, delay: float) -> tuple[list[float], int]:
    """A browser's connection that asks as htmx does."""
    place = urlsplit(address)
    await asyncio.sleep(delay)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = (
        f"GET /console/campaigns/{campaign}/counts HTTP/1.1\r\nHost: {place.netloc}\r\nHX-Request: true\r\n"
        f"Accept: */*\r\nCookie: {COOKIE}={identifier}\r\n\r\n"
    ).encode()
    times, size = [], 0
    while time.monotonic() < end:
        start = time.perf_counter()
        writer.write(head)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 200"), answer
        size = int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(size)
        times.append(time.perf_counter() - start)
        await asyncio.sleep(_EVERY_S)
    writer.close()
    return times, size


def _cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
