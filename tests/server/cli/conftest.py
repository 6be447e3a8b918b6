"""Commands run inside the test's process, with an environment of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app, output
from tests import kept_plans

Run = Callable[..., Any]


@pytest.fixture
def run_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder and checks its exit code; further words are its environment."""
    for name in [name for name in os.environ if name.startswith("SORDINO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SORDINO_DATABASE_URL", f"sqlite:///{tmp_path}/sordino.sqlite3")
    monkeypatch.setenv("SORDINO_CACHE_DIR", str(kept_plans.folder()))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, **environment: str) -> Any:
        environment = {"COLUMNS": "200"} | environment
        # Consoles keep the width that they had when the first command of this process was imported.
        output.console.width = output.progress_console.width = int(environment["COLUMNS"])
        result = CliRunner().invoke(app, list(arguments), env=environment)
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        return result

    return run


@pytest.fixture
def json_of(run_command: Run) -> Callable[..., Any]:
    """What a command prints with --json."""
    return lambda *arguments, **environment: json.loads(run_command(*arguments, "--json", **environment).stdout)
