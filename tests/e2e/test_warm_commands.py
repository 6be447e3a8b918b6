"""A command that is forked from a process with its modules behaves as one of a new interpreter."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import warm_commands
from tests.patience import PATIENCE_S

# With an option of the interpreter's own a new one is started.
FORKED, NEW = (sys.executable, "-m", "sordino_server"), (sys.executable, "-u", "-m", "sordino_server")

pytestmark = pytest.mark.skipif(not warm_commands.FORKS, reason="commands are forked on Linux only")


def fields_of(process: int) -> list[str]:
    """State, parent, group and session of a process, and more."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def children(parent: int) -> list[str]:
    """The command lines of the processes that it has started."""
    found = Path("/proc").glob("[0-9]*/task/[0-9]*/children")
    started = [each.read_text().split() for each in found if each.parents[2].name == str(parent)]
    return [Path(f"/proc/{child}/cmdline").read_text() for each in started for child in each]


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["keys", "create", "--role", "king"], 2)])
def test_it_prints_and_ends_as_a_new_one_does(installation: Any, arguments: list[str], code: int) -> None:
    forked, new = (
        subprocess.run(
            [*command, *arguments], env=installation.environment, capture_output=True, timeout=PATIENCE_S, check=False
        )
        for command in (FORKED, NEW)
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    assert forked.returncode == code


def test_it_has_its_own_environment_and_folder(installation: Any) -> None:
    assert "SORDINO_PORT" in installation.run("keys", "list", code=2, SORDINO_PORT="none").stderr
    assert "SORDINO_PORT" not in installation.run("keys", "list", code=2).stderr
    installation.run("db", "upgrade", SORDINO_DATABASE_URL="sqlite:///here.sqlite3")
    assert (installation.folder / "here.sqlite3").exists()


def test_it_is_a_child_with_files_and_children_of_its_own(installation: Any, wait_until: Callable[..., None]) -> None:
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    process, _ = installation.serve()
    theirs.close()
    assert fields_of(process.pid)[1:4] == [str(os.getpid()), str(os.getpgid(0)), str(os.getsid(0))]
    assert ours.recv(1) == b"", "nobody else has it open"
    assert "scipy" in Path(f"/proc/{process.pid}/maps").read_text(), "a server of its own imports none"
    wait_until(lambda: any("worker\0--parent" in each for each in children(process.pid)), "the worker is its child")
    process.send_signal(signal.SIGKILL)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_it_leads_a_session_if_it_is_told_to(installation: Any) -> None:
    command = [*FORKED, "serve", "--port", "0", "--no-worker"]
    with subprocess.Popen(
        command, env=installation.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"sordino is listening")
        assert fields_of(process.pid)[2:4] == [str(process.pid)] * 2
        os.killpg(process.pid, signal.SIGINT)
    assert process.returncode == 0
