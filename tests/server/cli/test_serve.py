"""What keeps `sordino serve` and `sordino worker` from starting is said in one sentence."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_a_port_in_use(run_command: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run_command("serve", "--port", port, "--no-worker", code=1)
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert "--port 0" in done.stderr


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
