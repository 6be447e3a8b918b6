"""SIGKILL between any two statements of the device: never two randomisations, never a lost debit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).with_name("client_kill_script.py")


def search(folder: Path, *options: str) -> Any:
    # One process that forks a device for every point: it imports once, and it has no threads. `-u` starts a new one
    # (tests/warm_commands.py): a fork takes longer where more is imported.
    command = [sys.executable, "-u", str(SCRIPT), str(folder), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3 * PATIENCE_S)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_device_killed_anywhere_spends_once_and_sends_one_report(tmp_path: Path) -> None:
    found = search(tmp_path)
    assert found["wrong"] == []
    # Schema, join, answer, upload and account have about a hundred statements; far fewer would mean a blind search.
    assert min(found["points"]) > 60


@pytest.mark.slow
def test_a_device_killed_anywhere_on_any_wire_spends_once_and_sends_one_report(tmp_path: Path) -> None:
    assert search(tmp_path, "--every")["wrong"] == []


@pytest.mark.slow
def test_the_search_finds_a_client_that_randomises_again(tmp_path: Path) -> None:
    found = search(tmp_path, "--broken")
    assert any("different reports were sent" in wrong for wrong in found["wrong"])
    assert any("a lost debit" in wrong for wrong in found["wrong"])


@pytest.mark.slow
def test_a_series_is_held_back_by_exactly_the_answers_that_were_debited(tmp_path: Path) -> None:
    found = search(tmp_path, "--series")
    assert found["wrong"] == []
    assert min(found["points"]) > 60
