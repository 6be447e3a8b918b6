"""Processes start whatever folder TMPDIR names, or somebody is told which folder to name."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sordino_server.work import fork_server
from sordino_server.work.fork_server import NoShortFolder, fork_context

START_ONE = """
import os, sys, tempfile
from sordino_server.work.fork_server import fork_context
process = fork_context().Process(target=os.getpid)
process.start()
process.join()
assert tempfile.gettempdir() == os.environ["TMPDIR"]
sys.exit(process.exitcode)
"""


@pytest.mark.parametrize("length", [fork_server._LONGEST_FOLDER, 200])
def test_a_process_starts_with_a_tmpdir_of_any_length(length: int) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        named = Path(folder, "x" * (length - len(folder) - 1))
        named.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", START_ONE], env=os.environ | {"TMPDIR": str(named)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert not list(named.iterdir())


def test_without_a_short_folder_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = "/" + "x" * fork_server._LONGEST_FOLDER
    monkeypatch.setattr(tempfile, "tempdir", named)
    monkeypatch.setattr(fork_server, "_SHORT_FOLDERS", (str(tmp_path / "absent"),))
    monkeypatch.setitem(fork_server.util.process.current_process()._config, "tempdir", None)
    with pytest.raises(NoShortFolder, match=f"set TMPDIR to a folder of at most {fork_server._LONGEST_FOLDER} bytes"):
        fork_context()
    assert tempfile.tempdir == named
