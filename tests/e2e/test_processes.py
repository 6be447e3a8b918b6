"""The processes of a server: signals, and the death of a worker or of the server itself."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.patience import PATIENCE_S

Installation = Any
Written = Callable[..., str]
STARTED = re.compile("worker started")
# All of 127.0.0.0/8 is this machine; the API listens on 127.0.0.1.
METRICS_HOST = "127.0.0.78"


def _worker_of(server: int) -> int | None:
    """Process id of the worker that a server started."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            command = (status.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == server and b"worker" in command:
            return int(status.parent.name)
    return None


def _shows(port: str, figure: str, host: str = METRICS_HOST) -> bool:
    try:
        return figure in httpx.get(f"http://{host}:{port}/metrics").text
    except httpx.TransportError:
        return False


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_the_worker_comes_back_and_leaves_with_the_server(
    installation: Installation, wait_until: Callable[..., None]
) -> None:
    with socket.socket() as first_probe, socket.socket() as second_probe:
        first_probe.bind((METRICS_HOST, 0))
        second_probe.bind((METRICS_HOST, 0))
        figures, jobs = (str(probe.getsockname()[1]) for probe in (first_probe, second_probe))
    ports = {"SORDINO_METRICS_PORT": figures, "SORDINO_WORKER_METRICS_PORT": jobs}
    process, address = installation.serve(SORDINO_METRICS_HOST=METRICS_HOST, **ports)
    wait_until(lambda: _shows(jobs, "sordino_jobs_total"), "a worker runs and shows its figures")
    assert _shows(figures, "sordino_queue_bytes")
    assert not [port for port in (figures, jobs) if _shows(port, "sordino", host="127.0.0.1")]
    first = _worker_of(process.pid)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: _worker_of(process.pid) not in (None, first), "another worker runs")
    second = _worker_of(process.pid)
    wait_until(lambda: _shows(jobs, "sordino_jobs_total"), "the other worker has the same port")
    assert httpx.get(f"{address}/readyz", timeout=PATIENCE_S).status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    wait_until(lambda: _is_gone(second), "the worker leaves with the server")


def test_a_killed_server_leaves_no_worker(
    installation: Installation, wait_until: Callable[..., None], written: Written
) -> None:
    process, log = installation.start("serve", "--port", "0")
    written(process, log, STARTED)
    worker = _worker_of(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: _is_gone(worker), "the worker has ended")


def test_a_plan_survives_the_death_of_its_worker(
    installation: Installation, workload_file: Path, wait_until: Callable[..., None], written: Written
) -> None:
    """The plan of a large CDF takes seconds; its worker is killed in the middle, and the next one finishes it."""
    _, address = installation.serve("--no-worker")
    headers = {"Authorization": f"Bearer {installation.operator(address)['SORDINO_KEY']}"}
    line = {"name": "value", "kind": "ordinal", "edges": list(range(255))}
    workload = {"name": "large", "domain": [line], "queries": "prefix"}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        order = {"workload": api.post("/v1/workloads", json=workload).json()["id"], "epsilon": 1}
        path = api.post("/v1/plan-requests", json=order | {"mechanism": "factorization"}).headers["location"]
        first, _ = installation.start("worker")
        wait_until(lambda: api.get(path).json()["state"] == "running", "a worker computes the plan")
        first.kill()
        first.wait()
        assert api.get(path).json()["state"] == "running"
        installation.start("worker")
        wait_until(lambda: api.get(path).json()["state"] == "ready", "the next worker has finished the plan")
        assert api.get(path).json()["attempts"] == 2
