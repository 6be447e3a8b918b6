"""Keys that sign manifests are named by the log, with their end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from sordino_server.cli.log import app
from sordino_server.cli.log_monitor import Monitored, look
from sordino_server.kit.db import Database
from sordino_server.models import Log, Role
from sordino_server.public_log import repository, signers
from sordino_server.public_log.entries import row_of
from sordino_server.public_log.signers import Signer
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import LogEntry, Manifest, Problem, signed_message
from sordino_shared.protocol.log_entries import LoggedSigner, SignerChange
from sordino_shared.protocol.log_keys import LogPins
from tests.server.conftest import RunningServer
from tests.server.console.conftest import Browsers
from tests.server.public_log.conftest import NOW
from tests.server.public_log.test_copies import signer_of
from tests.server.public_log.test_device import sign
from tests.server.public_log.test_rotation import rotate

FIRST, SECOND = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def signed(server: RunningServer, campaign: str, key: Ed25519PrivateKey) -> Any:
    manifest = Manifest.read(server.anonymous.get(f"/v1/campaigns/{campaign}").content)
    order = {"key": public(key).hex(), "signature": key.sign(signed_message(manifest)).hex()}
    return server.api.post(f"/v1/campaigns/{campaign}/signatures", json=order)


def test_the_log_says_last_what_became_of_each_key(database: Database, log: Log) -> None:
    one, two = public(FIRST), public(SECOND)
    with database.write("signers") as session:
        signers.added(session, log, one, NOW + 9, NOW)
        signers.added(session, log, two, None, NOW)
        signers.withdrawn(session, log, two, NOW + 1)
        found = signers.named(session, log)
    assert found == {one: Signer(False, NOW + 9), two: Signer(True, None)}
    assert [found[one].state(NOW + 8), found[one].state(NOW + 9), found[two].state(NOW)] == [
        "active",
        "expired",
        "withdrawn",
    ]
    for act, reason in (
        (lambda session: signers.withdrawn(session, log, two, NOW), "no key .* that could be withdrawn"),
        (lambda session: signers.withdrawn(session, log, bytes(32), NOW), "no key"),
        (lambda session: signers.added(session, log, bytes(32), None, NOW), "no Ed25519 key"),
        (lambda session: signers.added(session, log, one, NOW, NOW), "over already"),
    ):
        with pytest.raises(InvalidValue, match=reason), database.write("wrong") as session:
            act(session)


def test_a_key_that_signs_is_named_and_one_that_ended_is_refused(
    logging_server: RunningServer, check_problem: Callable[..., dict[str, Any]]
) -> None:
    campaign = logging_server.campaign()["id"]
    for key in (FIRST, SECOND, FIRST):
        signed(logging_server, campaign, key).raise_for_status()
    with logging_server.database.write("withdraw") as session:
        log = session.query(Log).one()
        assert list(signers.named(session, log)) == [public(FIRST), public(SECOND)]
        signers.withdrawn(session, log, public(FIRST), logging_server.clock.now())
        signers.added(session, log, public(SECOND), logging_server.clock.now() + 60, logging_server.clock.now())
    other = logging_server.campaign(name="other")["id"]
    check_problem(signed(logging_server, other, FIRST), Problem.INVALID_REQUEST, "is withdrawn")
    signed(logging_server, other, SECOND).raise_for_status()
    logging_server.clock.advance(60)
    check_problem(signed(logging_server, other, SECOND), Problem.INVALID_REQUEST, "is expired")


def test_a_server_without_a_log_names_no_key(running: RunningServer) -> None:
    signed(running, running.campaign()["id"], FIRST).raise_for_status()


def test_a_monitor_tells_of_keys_and_of_one_that_is_not_named(
    logging_server: RunningServer, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = logging_server.campaign("open")["id"]
    signed(logging_server, campaign, FIRST).raise_for_status()
    sign(logging_server)
    pins, known, now = LogPins(log=signer_of(key).key), Monitored(), logging_server.clock.now()
    found = look(logging_server.address, pins, known, now)
    assert (found.lies, [each.event.kind for each in found.entries]) == ([], ["campaign", "signer"])
    assert "which signs manifests, was added" in found.text(found.entries[1])
    monkeypatch.setattr("sordino_server.campaigns.finding.check_signer", lambda *given: None)
    hidden = logging_server.campaign("open", name="hidden")["id"]
    signed(logging_server, hidden, SECOND).raise_for_status()
    sign(logging_server)
    # Its entry may wait for the worker at the first look.
    assert look(logging_server.address, pins, known, now).lies == []
    [lie] = look(logging_server.address, pins, known, now).lies
    assert lie == f"key {public(SECOND).hex()} signed the manifest of campaign {hidden}, and the log does not name it"


def test_the_commands(logging_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = logging_server.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("SORDINO_DATABASE_URL", url)
    key = public(FIRST).hex()

    def told(*command: str) -> Any:
        ended = CliRunner().invoke(app, ["signer", *command, "--json"])
        assert ended.exit_code == 0, ended.output
        return json.loads(ended.stdout)

    assert told("add", key, "--expires", "2199-11-28")["expires"] == 7_255_180_800
    assert told("list")["signers"] == [{"key": key, "state": "active", "expires": 7_255_180_800}]
    assert told("withdraw", key)["change"] == "withdrawn"
    assert told("list")["signers"][0]["state"] == "withdrawn"
    for wrong in (["add", "xyz"], ["add", key, "--expires", "tomorrow"], ["withdraw", key]):
        assert CliRunner().invoke(app, ["signer", *wrong]).exit_code != 0


def test_the_last_word_of_the_log_counts_and_not_the_last_row(database: Database, log: Log) -> None:
    """In a restored database an entry that was read back has a larger id than a later one that waited."""
    said = [LogEntry(NOW, public(FIRST), LoggedSigner(change, None)) for change in SignerChange]
    withdrawn, added = reversed(said)
    with database.write("restore") as session:
        repository.add_all(session, [row_of(log, withdrawn.content), row_of(log, added.content, 0)])
    with database.read() as session:
        assert signers.named(session, log)[public(FIRST)].state(NOW) == "withdrawn"


def test_the_console_shows_keys_with_their_ends_and_what_these_do(logging_server: RunningServer, key: Path) -> None:
    database, clock = logging_server.database, logging_server.clock
    browsers = Browsers(logging_server)
    browser = browsers.of(Role.ANALYST)
    assert "The log names none" in browser.page("/console/log")
    with database.write("signers") as session:
        log = repository.current(session)
        assert log is not None
        signers.added(session, log, public(FIRST), clock.now() + 60, clock.now())
        signers.added(session, log, public(SECOND), None, clock.now())
        signers.withdrawn(session, log, public(SECOND), clock.now())
    rotate(database, key, clock.now())
    sign(logging_server)
    clock.advance(60)
    page = " ".join(browser.page("/console/log").split())
    rows = dict(re.findall(r'title="([0-9a-f]{64})".*?</th><td>([a-z]+)</td>', page))
    assert rows == {public(FIRST).hex(): "expired", public(SECOND).hex(): "withdrawn"}
    assert "takes no signature of a key that was withdrawn or has expired" in page
    assert "Signs too until" in page
    clock.advance(30 * 86_400)
    assert "Signs too until" not in browsers.of(Role.ANALYST).page("/console/log")
    browsers.close()
