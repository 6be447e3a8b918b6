"""`python -m benchmarks.senders`: a real `sordino serve` on loopback, /livez asked beside eight senders of one kind."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing as mp
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

SENDERS = 8
MIB = 1 << 20
_ADDRESS = re.compile(r"listening on (http://\S+)")
_PAUSE_S = 0.01


@dataclass(frozen=True)
class Measured:
    """Milliseconds of /livez, the server's resident MiB, and requests that were answered, by kind of sender."""

    senders: str
    p50_ms: float
    p99_ms: float
    largest_ms: float
    rss_before: float
    rss_largest: float
    rss_after: float
    requests: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.senders", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each kind of senders sends")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), asked.seconds)
        print(json.dumps([asdict(each) for each in measured], indent=1)) if asked.json else _print(measured)


def _print(measured: Iterator[Measured]) -> None:
    print("| senders | p50 ms | p99 ms | largest ms | MiB before | largest | 5 s after | answered |")
    print("|---|---|---|---|---|---|---|---|")
    for each in measured:
        times = f"{each.p50_ms:.1f} | {each.p99_ms:.1f} | {each.largest_ms:.1f}"
        memory = f"{each.rss_before:.0f} | {each.rss_largest:.0f} | {each.rss_after:.0f}"
        print(f"| {each.senders} | {times} | {memory} | {each.requests} |", flush=True)


def measure(folder: Path, seconds: float) -> Iterator[Measured]:
    """Nobody, upload tokens with 16 MiB, analysts with 1.9 million members, analysts with what takes long to build."""
    with _server(folder) as (process, address):
        admin, uploader, analyst = (_key(folder, role) for role in ("admin", "uploader", "analyst"))
        order = {"name": "x", "domain": [{"name": "a", "kind": "categorical", "labels": ["b", "c"]}]}
        warm = {"Authorization": f"Bearer {admin}"}
        httpx.post(f"{address}/v1/workloads", json=order | {"queries": "histogram"}, headers=warm, timeout=60)
        members = "{" + ",".join(f'"{number}":1' for number in range(1_200_000)) + "}"
        matrix = json.dumps(order | {"queries": {"matrix": [[0.25, 1.5]] * 1_000_000}})
        bins = {"name": "v", "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": 524286}}
        long = json.dumps(order | {"domain": [bins], "queries": "prefix"})
        kinds = [
            ("nobody", None, ""),
            (f"upload tokens, {len(members) / MIB:.1f} MiB", uploader, members),
            (f"analysts, {len(members) / MIB:.1f} MiB of unknown members", analyst, members),
            (f"analysts, a matrix of {len(matrix) / MIB:.1f} MiB", analyst, matrix),
            ("analysts, half a million bins", analyst, long),
        ]
        for name, key, body in kinds:
            yield _beside(name, process.pid, address, key, body.encode(), seconds)


def _beside(name: str, pid: int, address: str, key: str | None, body: bytes, seconds: float) -> Measured:
    before, largest = _rss(pid), 0.0
    times: list[float] = []
    context = mp.get_context("fork")
    answered = context.Value("i", 0)
    # In a process of its own: a probe beside eight busy threads would wait for them, and not for the server.
    senders = context.Process(target=_send_all, args=(address, key, body, answered), daemon=True)
    if key:
        senders.start()
    with httpx.Client(base_url=address, timeout=60) as probe:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            start = time.perf_counter()
            probe.get("/livez").raise_for_status()
            times.append(1000 * (time.perf_counter() - start))
            largest = max(largest, _rss(pid))
            time.sleep(_PAUSE_S)
    if key:
        senders.kill()
        senders.join()
    time.sleep(5)
    times.sort()
    p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    return Measured(name, p50, p99, times[-1], before, largest, _rss(pid), answered.value)


def _send_all(address: str, key: str, body: bytes, answered: Any) -> None:
    threads = [threading.Thread(target=_send, args=(address, key, body, answered)) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()


def _send(address: str, key: str, body: bytes, answered: Any) -> None:
    """One request after the other, over sockets: an HTTP library would cost the machine more than the server does."""
    host, port = address.removeprefix("http://").split(":")
    head = f"POST /v1/workloads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=120) as connection:
            connection.sendall(head.encode())
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(body)
            connection.recv(65536)
            with answered.get_lock():
                answered.value += 1


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "sordino_server", "serve", "--port", "0", "--no-worker"]
    process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = _ADDRESS.search(process.stdout.readline())
        assert found is not None, "the server did not start"
        yield process, found[1]
    finally:
        process.terminate()
        process.wait(60)


def _key(folder: Path, role: str) -> str:
    command = [sys.executable, "-m", "sordino_server", "keys", "create", "--role", role, "--name", role]
    return subprocess.run(
        command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=True
    ).stdout.strip()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    return kept | {"SORDINO_DATABASE_URL": f"sqlite:///{folder}/sordino.sqlite3", "SORDINO_DRAIN_S": "0"}


def _rss(pid: int) -> float:
    """Resident MiB of the process, without those that check workloads, which end with their work."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
