"""Checkpoints name the head of the audit log's chain, and `sordino audit-log verify` misses what was removed since."""

from __future__ import annotations

import base64
import json
from typing import Any

from sqlalchemy import text
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_shared.protocol.log_keys import LogPins, NoteKey
from sordino_shared.protocol.log_notes import read_checkpoint
from tests.server.conftest import RunningServer
from tests.server.public_log.test_endpoints import sign


def verified(server: RunningServer, code: int = 0, *options: str, what: str = "verify") -> Any:
    environment = {"SORDINO_SERVER": server.address, "SORDINO_KEY": server.admin_key, "COLUMNS": "300"}
    done = CliRunner().invoke(app, ["audit-log", what, "--json", *options], env=environment)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if code == 0 else " ".join(done.stderr.split())


def test_a_checkpoint_names_the_head_and_a_shortened_audit_log_shows(logging_server: RunningServer) -> None:
    server = logging_server
    server.campaign(name="first")
    assert sign(server) == 1
    assert read_checkpoint(server.anonymous.get("/log/checkpoint").text).extensions == ()
    server.worker().purge()
    assert verified(server)["published"] is None
    server.campaign(name="second")
    assert sign(server) == 2
    note = read_checkpoint(server.anonymous.get("/log/checkpoint").text)
    found = verified(server)
    assert note.extensions == ("audit " + base64.b64encode(bytes.fromhex(found["published"])).decode(),)
    # What a device checks holds with the line.
    pinned = NoteKey.parse(server.anonymous.get("/v1/log").json()["key"])
    LogPins(log=pinned).accept(note, server.clock.now())
    assert found["published"] == found["head"]
    server.worker().purge()
    longer = verified(server)
    assert longer["head"] != longer["published"] == found["head"]
    removed = found["entries"] - 1
    with server.database.write("forge") as session:
        for name in session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).all():
            if name.startswith(("audit_log", "audit_chain")):
                session.execute(text(f"DROP TRIGGER {name}"))
        session.execute(text(f"DELETE FROM audit_chain WHERE entry_id > {removed}"))
        session.execute(text(f"DELETE FROM audit_log WHERE id > {removed}"))
    assert "which the public log names" in verified(server, code=1)
    # Also behind the next checkpoints, with entries that were made since.
    for size in (3, 4):
        server.campaign(name=f"number {size}")
        server.worker().purge()
        assert sign(server) == size
        told = verified(server, code=1)
        assert found["published"] in told
    LogPins(log=pinned).accept(read_checkpoint(server.anonymous.get("/log/checkpoint").text), server.clock.now())
    # Whoever restored a backup says so, and anything else still shows.
    known = verified(server, 0, "--lost", found["published"])
    assert (known["lost"], known["published"] != found["published"]) == ([found["published"]], True)
    assert "--head and --lost go with" in verified(server, 2, "--lost", found["published"], what="list")
