"""The script of examples/monitor, run word by word against a server, in a repository that is pushed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sordino_server.public_log.signing import NoteSigner, read_key_file
from tests.server.conftest import served
from tests.server.public_log.conftest import ORIGIN, begin
from tests.server.public_log.test_copies import publish, sign

EXAMPLE = Path(__file__).parents[2] / "examples" / "monitor" / "monitor.yml"


def script() -> str:
    """What the step `look` runs."""
    steps = yaml.safe_load(EXAMPLE.read_text("utf-8"))["jobs"]["look"]["steps"]
    return str(next(each for each in steps if each.get("name") == "look")["run"])


class Repository:
    """A repository with a remote, as a runner checks it out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checked out"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", folder / "remote"], check=True)
        subprocess.run(["git", "clone", "--quiet", folder / "remote", self.folder], check=True, capture_output=True)
        self.git("commit", "--quiet", "--allow-empty", "--message", "begin")
        self.git("push", "--quiet", "--set-upstream", "origin", "HEAD:main")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def look(self, url: str, key: str) -> int:
        """Run the step as a runner does."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = {**os.environ, "PATH": path, "LOG_URL": url, "LOG_KEY": key}
        return subprocess.run(["bash", "-e", "-c", script()], cwd=self.folder, env=given, check=False).returncode

    @property
    def pushed(self) -> list[str]:
        """Subjects of the commits of the remote, newest first."""
        return self.git("log", "--format=%s", "origin/main").splitlines()


@pytest.mark.slow
def test_the_workflow_keeps_what_it_saw_and_fails_for_what_is_not_true(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    key = tmp_path / "log.key"
    begin(migrated_sqlite_url, key)
    repository, seed = Repository(tmp_path), read_key_file(key)
    with served(migrated_sqlite_url, log_key=key) as server:
        publish(server.database, "We keep reports for 30 days.")
        sign(server)
        own = str(NoteSigner.of_log(ORIGIN, seed).key)
        assert repository.look(server.address, own) == 0
        assert repository.pushed == ["1 new: policy: We keep reports for 30 days.", "begin"]
        assert sorted(repository.git("ls-files").split()) == ["log.atom", "seen.json", "told.txt"]
        # A key that signed nothing of it.
        assert repository.look(server.address, str(NoteSigner.of_log(ORIGIN, bytes(32)).key)) == 2
        assert repository.pushed[0].startswith("not true: the checkpoint has no valid signature")
        assert "seen.json.evidence" in repository.git("ls-files")
    assert repository.look(server.address, own) == 0
    assert len(repository.pushed) == 3
