"""What keeps `sordino serve` and `sordino worker` from starting is said in one sentence."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE_S

Run = Callable[..., Any]


def test_a_port_in_use(run_command: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run_command("serve", "--port", port, "--no-worker", code=1)
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert "use another --port" in done.stderr


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine(run_command: Run, host: str) -> None:
    assert host in run_command("serve", "--host", host, "--port", "0", "--no-worker", code=2).stderr


@pytest.mark.parametrize("command", [("worker",), ("serve", "--port", "0", "--no-migrate", "--no-worker")])
def test_a_database_without_tables(run_command: Run, command: tuple[str, ...]) -> None:
    assert "sordino db upgrade" in run_command(*command, code=2).stderr.replace("\n", " ")


def test_a_misspelt_setting(run_command: Run) -> None:
    assert "SORDINO_PROT" in run_command("serve", code=2, SORDINO_PROT="80").stderr


def test_a_value_that_does_not_fit(run_command: Run) -> None:
    assert "SORDINO_PORT" in run_command("serve", code=2, SORDINO_PORT="many").stderr


# A server with a bug in its probe, a library that warns in two ways at the start, and a thread that dies.
_BROKEN = """
import logging, threading, warnings
from sordino_server.serving import health
from sordino_server.cli import app

def fail(database):
    logging.getLogger("some.library").warning("%s is odd", "this")
    warnings.warn("so is that")
    threading.Thread(target=lambda: 1 / 0, name="short").start()
    raise RuntimeError("boom")

health.check_schema = fail
app(["serve", "--port", "0", "--no-worker", "--json"])
"""


def test_every_line_of_the_log_is_json_and_a_bug_is_logged_once(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    environment |= {"SORDINO_DRAIN_S": "0", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", _BROKEN]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            status = httpx.get(f"{address}/readyz", timeout=PATIENCE_S).status_code
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE_S)
    assert status == 500, errors
    events = [json.loads(line) for line in errors.splitlines()]
    bugs = [event for event in events if "boom" in event.get("exception", "")]
    assert [(event["event"], event["path"]) for event in bugs] == [("bug", "/readyz")]
    warned = [event for event in events if event.get("logger") == "some.library"]
    assert [(event["event"], event["level"]) for event in warned] == [("this is odd", "warning")]
    assert any("so is that" in event["event"] for event in events if event.get("logger") == "py.warnings")
    (died,) = (event for event in events if event.get("thread") == "short")
    assert "ZeroDivisionError" in died["exception"]


@pytest.mark.parametrize(
    ("command", "environment", "words"),
    [
        (("serve", "--no-worker", "--no-migrate", "--port", "0"), {}, "there is no database at"),
        (("worker",), {"SORDINO_DATABASE_URL": "postgresql://u@127.0.0.1:1/x"}, "nothing listens at the host and port"),
        (("serve",), {"SORDINO_PORT": "many"}, "SORDINO_PORT: "),
        (("serve", "--port", "0", "--host", "192.0.2.1", "--no-worker"), {}, "cannot listen on port 0 of 192.0.2.1"),
        (("db", "upgrade"), {}, "revision of the database"),
        (("db", "current"), {"SORDINO_PORT": "tcp://10.0.0.1:80"}, "ignored what Kubernetes sets"),
    ],
)
def test_what_a_command_says_itself_is_json_too(
    tmp_path: Path, command: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    done = subprocess.run(
        [sys.executable, "-m", "sordino_server", *command],
        cwd=tmp_path,
        env=kept | {"SORDINO_LOG_FORMAT": "json"} | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    events = [json.loads(line) for line in (done.stdout + done.stderr).splitlines()]
    assert any(words in event["event"] for event in events), events
    assert all({"level", "timestamp"} <= event.keys() for event in events)
