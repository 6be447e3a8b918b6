"""`sordino keys`: the first key comes from here, and a secret is shown once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino_server.models import Role
from tests.patience import PATIENCE_S

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _database(run_command: Run) -> None:
    run_command("db", "upgrade")


def test_from_making_to_revoking(run_command: Run, json_of: Run) -> None:
    # Keys of three roles need a campaign; tests/server/cli/test_archives.py makes one.
    roles = [role for role in Role if role not in (Role.AGGREGATOR, Role.SHUFFLER, Role.ISSUER)]
    made = {role: json_of("keys", "create", "--role", role, "--name", f"my {role}") for role in roles}
    listed = json_of("keys", "list")["keys"]
    assert {key["id"] for key in listed} == {key["id"] for key in made.values()}
    assert not any("key" in key for key in listed)
    # On the machine the last admin's key is revoked, too: who has the database can make another.
    revoked = run_command("keys", "revoke", made[Role.ADMIN]["id"], "--json")
    assert json.loads(revoked.stdout)["revoked_at"] is not None
    assert "until `sordino keys create --role admin`" in revoked.stderr.replace("\n", " ")
    json_of("keys", "create", "--role", "admin", "--name", "another")
    assert json_of("keys", "revoke", made[Role.ANALYST]["id"])["revoked_at"] is not None
    table = run_command("keys", "list").stdout
    assert table.count("revoked") == 2
    assert made[Role.ADMIN]["key"] not in table


def test_what_a_key_opens_and_when_it_was_made(run_command: Run, json_of: Run, running: Any) -> None:
    database = {"SORDINO_DATABASE_URL": str(running.database.url)}
    campaign = running.campaign()["id"]
    uploader = ("keys", "create", "--role", "uploader")
    for name, more in (("one", campaign), ("prefix", campaign[:9]), ("name", "delays"), ("every", None)):
        belongs = () if more is None else ("--campaign", more)
        json_of(*uploader, "--name", name, *belongs, **database)
    for wrong in ("none", "%", "", campaign[:3]):
        unknown = run_command(*uploader, "--name", "x", "--campaign", wrong, code=2, **database)
        assert f"no campaign has the name or the id '{wrong}'" in unknown.stderr
    rows = run_command("keys", "list", COLUMNS="40", **database).stdout.splitlines()[1:]
    opened = [(row.split()[2], row.split()[-1]) for row in rows if " uploader " in row]
    assert sorted(opened) == [("every", "all"), *((name, campaign) for name in ("name", "one", "prefix"))]
    assert all(re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d UTC ", row) for row in rows)


def test_the_text_alone_goes_to_standard_output(run_command: Run) -> None:
    done = run_command("keys", "create", "--role", "admin", "--name", "me")
    assert re.fullmatch(r"sdo_admin_[0-9a-f]{16}_[0-9a-f]{64}\n", done.stdout)
    assert "sdo_" not in done.stderr


def test_who_stops_reading_is_told_nothing(run_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `sordino keys list --json | head -c 0`: the pipe is closed before anything is written."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    run_command("keys", "create", "--role", "admin", "--name", "me")
    reading, writing = os.pipe()
    os.close(reading)
    command = (sys.executable, "-m", "sordino_server", "keys", "list", "--json")
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_what_cannot_be_done(run_command: Run) -> None:
    assert "no key" in run_command("keys", "revoke", "nothing", code=2).stderr
    assert "name" in run_command("keys", "create", "--role", "admin", "--name", " ", code=2).stderr
    assert "owner" in run_command("keys", "create", "--role", "owner", "--name", "me", code=2).stderr


@pytest.mark.parametrize("command", [("create", "--role", "admin", "--name", "me"), ("list",), ("revoke", "0" * 16)])
def test_no_database_is_made_in_the_wrong_folder(run_command: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    done = run_command("keys", *command, code=2, SORDINO_DATABASE_URL="sqlite:///sordino.sqlite3")
    assert str(tmp_path / "elsewhere" / "sordino.sqlite3") in " ".join(done.stderr.split())
    assert "sordino serve" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_key_with_an_end_is_listed_with_it_and_with_its_last_use(run_command: Run, json_of: Run) -> None:
    made = json_of("keys", "create", "--role", "analyst", "--name", "Ada", "--expires-in-days", "90")
    assert made["expires_at"] == made["created_at"] + 90 * 86400
    assert made["last_used_at"] is None
    said = run_command("keys", "create", "--role", "analyst", "--name", "Bob", "--expires-in-days", "1").stderr
    assert re.search(r"key \w+ \(analyst, until \d{4}-", said)
    rows = run_command("keys", "list", COLUMNS="200").stdout
    assert re.search(r"Ada .* never .* in use until \d{4}-\d\d-\d\d", rows)
    run_command("keys", "create", "--role", "analyst", "--name", "x", "--expires-in-days", "-1", code=2)
