"""`sordino health` asks what the settings say, at little cost, and believes no server or worker that does not work."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sordino_server.config import PREFIX, Settings
from sordino_server.kit import health_check
from sordino_server.kit.health_check import DEFAULTS, server_health, worker_health

Run = Callable[..., Any]
# Two and a half times what it takes; with the parser of the command line it is 0.5 s.
MOST_CPU_S = 0.1


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)


@contextmanager
def answering(answer: bytes, family: int = socket.AF_INET, host: str = "127.0.0.1") -> Iterator[int]:
    """A server that answers one request with these bytes, and its port."""
    with socket.create_server((host, 0), family=family) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]


def test_the_defaults_are_those_of_the_settings() -> None:
    settings = Settings()
    assert {name: str(getattr(settings, name.removeprefix(PREFIX).lower())) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_the_port_of_the_settings_is_asked(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("SORDINO_HOST", host)
    with answering(b"HTTP/1.1 200 OK\r\n\r\n{}") as port:
        monkeypatch.setenv("SORDINO_PORT", str(port))
        assert server_health().healthy


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"detail": "draining"}', 'is not ready: 503 {"detail": "draining"}'),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks no HTTP"),
        (b"", "speaks no HTTP"),
        (b"HTTP/1.1 OK 200\r\n\r\n", "no server answers"),
    ],
)
def test_anything_but_200_is_not_ready(answer: bytes, words: str) -> None:
    with answering(answer) as port:
        found = server_health(port)
    assert not found.healthy
    assert words in found.said


def test_a_server_that_says_nothing_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_check, "_WITHIN_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = server_health(silent.getsockname()[1])
    assert not found.healthy
    assert "timed out" in found.said


def test_a_free_port_must_be_named_and_a_service_s_address_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_PORT", "0")
    assert "give --port" in server_health().said
    monkeypatch.setenv("SORDINO_PORT", "tcp://10.0.0.1:8000")
    monkeypatch.setenv("SORDINO_HOST", "::1")
    assert "port 8000 of ::1" in server_health().said


def test_a_worker_is_healthy_while_its_file_is_young(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "set SORDINO_HEARTBEAT_FILE" in worker_health().said
    file = tmp_path / "worker"
    monkeypatch.setenv("SORDINO_HEARTBEAT_FILE", str(file))
    assert not worker_health().healthy
    assert "has polled the database yet" in worker_health().said
    file.touch()
    touched = file.stat().st_mtime
    assert worker_health(lambda: touched + 60).healthy
    old = worker_health(lambda: touched + 61)
    assert (old.healthy, old.said) == (False, "the worker last polled the database 61 s ago, more than 60 s")
    monkeypatch.setenv("SORDINO_LEASE_S", "300")
    assert worker_health(lambda: touched + 600).healthy


def test_it_imports_nothing_large_and_takes_a_tenth_of_a_second() -> None:
    """In an interpreter of its own, not in the fork that tests start commands by."""
    code = "import sys\nsys.argv[1:] = ['health']\nfrom sordino_server.__main__ import main\n"
    code += "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, *sorted(sys.modules))"
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    said, listed = done.stdout.splitlines()
    assert "no server answers" in said
    exit_code, *modules = listed.split()
    assert exit_code == "1"
    assert not {"typer", "click", "pydantic", "sqlalchemy", "http", "httpx", "structlog", "json"} & set(modules)
    assert min(seconds) <= MOST_CPU_S


def test_the_command_says_the_same(run_command: Run, tmp_path: Path) -> None:
    file = tmp_path / "worker"
    file.touch()
    done = run_command("health", "--worker", "--json", SORDINO_HEARTBEAT_FILE=str(file))
    assert json.loads(done.stdout)["healthy"] is True
    with answering(b"HTTP/1.1 200 OK\r\n\r\n{}") as port:
        assert f"the server at port {port}" in run_command("health", "--port", str(port)).stdout
    assert "no server answers" in run_command("health", "--port", str(port), code=1).stdout
