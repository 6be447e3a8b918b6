"""Whether the server or the worker of this machine is healthy, asked by a process that lives for it.

An orchestrator asks every few seconds, and the libraries of the command line alone take ten times as long as the
question: this imports nothing but the standard library's small modules, and reads the few settings that it needs.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sordino_server.kit.cluster_variables import injected_variables

# Longer than the server itself waits for its database before it says that it is not ready.
_WITHIN_S = 2.5
# What a busy machine may keep a worker from its next poll.
_LEAST_AGE_S = 60.0
_MOST_BYTES = 1 << 16
# As in the settings.
DEFAULTS = {
    "SORDINO_HOST": "127.0.0.1",
    "SORDINO_PORT": "8000",
    "SORDINO_LEASE_S": "30",
    "SORDINO_WORKER_POLL_S": "0.25",
}
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True)
class CheckedHealth:
    """Whether it is healthy, and in words why or why not."""

    healthy: bool
    said: str


def run(arguments: list[str]) -> int | None:
    """Exit code of `sordino health` with these arguments; None for any but `--worker`, which the parser knows."""
    if arguments not in ([], ["--worker"]):
        return None
    found = worker_health() if arguments else server_health()
    print(found.said)
    return 0 if found.healthy else 1


def server_health(port: int | None = None) -> CheckedHealth:
    """Whether the server of the settings answers /readyz with 200."""
    settings = _settings()
    host = _EVERYWHERE.get(settings["SORDINO_HOST"], settings["SORDINO_HOST"])
    asked = settings["SORDINO_PORT"] if port is None else str(port)
    if not asked.isdecimal() or not 0 < int(asked) < 1 << 16:
        return CheckedHealth(False, f"which port? SORDINO_PORT is {asked}: give --port")
    try:
        status, body = _asked(host, int(asked))
    except (OSError, ValueError) as error:
        return CheckedHealth(False, f"no server answers at port {asked} of {host}: {error}")
    if status == 200:
        return CheckedHealth(True, f"the server at port {asked} of {host} is ready")
    return CheckedHealth(False, f"the server at port {asked} of {host} is not ready: {status} {body}")


def _asked(host: str, port: int) -> tuple[int, str]:
    until = time.monotonic() + _WITHIN_S
    with socket.create_connection((host, port), _WITHIN_S) as connection:
        connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while len(answer) < _MOST_BYTES:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            part = connection.recv(_MOST_BYTES)
            if not part:
                break
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/"):
        raise ValueError("what answers there speaks no HTTP")
    return int(words[1]), body.decode("utf-8", "replace")


def worker_health(now: Callable[[], float] = time.time) -> CheckedHealth:
    """Whether a worker has polled the database, or renewed the lease of its work, not long ago."""
    settings = _settings()
    file = os.environ.get("SORDINO_HEARTBEAT_FILE")
    if not file:
        return CheckedHealth(False, "set SORDINO_HEARTBEAT_FILE, here and for the worker, to a file that it touches")
    try:
        age = now() - os.stat(file).st_mtime
        most = max(_LEAST_AGE_S, 2 * float(settings["SORDINO_LEASE_S"])) + float(settings["SORDINO_WORKER_POLL_S"])
    except (OSError, ValueError) as error:
        return CheckedHealth(False, f"no worker has polled the database yet: {error}")
    said = f"the worker last polled the database {max(age, 0):.0f} s ago"
    return CheckedHealth(True, said) if age <= most else CheckedHealth(False, f"{said}, more than {most:.0f} s")


def _settings() -> Mapping[str, str]:
    """The settings that are needed, with their defaults."""
    injected = injected_variables(os.environ)
    given = {name: value for name, value in os.environ.items() if name not in injected}
    return DEFAULTS | {name: given[name] for name in DEFAULTS if name in given}
