"""`sordino demo --shuffler`, small: both real programs, with few devices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from tests.patience import PATIENCE_S
from tests.server.cli.test_demo import COMMAND, await_no_processes_in, environment, run_demo

USERS = 40


@pytest.mark.slow
def test_devices_are_counted_behind_the_second_program(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "--shuffler", "--users", str(USERS), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    batch = result["batch"]
    assert (result["users"], result["apps"], result["fleet"]) == (USERS, 2, USERS - 2)
    assert (batch["state"], batch["received"], batch["reports"]) == ("counted", USERS, USERS + batch["blanket"])
    assert batch["blanket"] == result["blanket"] > 0
    # Six predicted standard deviations of the worst of 16 errors: false alarms 4 in 10⁸.
    assert 0 < result["max_abs_error"] < 6 * result["predicted_rmse_max"]
    users = {row["trust"]: row["users"] for row in result["price_of_locality"]["rows"]}
    assert users["local"] > users["blanket"] > users["curator"] > 0
    assert not list((tmp_path / "tmp").iterdir())
    await_no_processes_in(tmp_path)


@pytest.mark.slow
def test_ctrl_c_ends_both_programs(tmp_path: Path) -> None:
    log = tmp_path / "shown"
    with log.open("wb") as stream:
        command = [*COMMAND, "--shuffler", "--users", str(USERS)]
        running = subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=stream, stderr=stream)
    try:
        until = time.monotonic() + PATIENCE_S
        while b"to the end of the round" not in log.read_bytes():
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < until
            time.sleep(0.1)
        os.kill(running.pid, signal.SIGINT)
        assert running.wait(PATIENCE_S) != 0
    finally:
        running.kill()
        running.wait()
    assert b"Traceback" not in log.read_bytes()
    assert not list((tmp_path / "tmp").iterdir())
    await_no_processes_in(tmp_path)


@pytest.mark.parametrize("option", [("--epsilon", "1"), ("--bins", "8"), ("--learn",), ("--series", "3"), ("--keep",)])
def test_options_of_other_demos_are_refused(option: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["demo", "--shuffler", *option])
    assert done.exit_code == 2
    assert option[0] in done.output
    assert "--shuffler asks one question" in done.output


def test_without_the_program_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = CliRunner().invoke(app, ["demo", "--shuffler"])
    assert done.exit_code != 0
    assert "sordino-shuffler is not installed" in done.output
