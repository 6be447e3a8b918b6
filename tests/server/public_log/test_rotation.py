"""The next key of a log: both sign for 30 days, and whoever pins one of them goes on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_client import Client, PlanRefused
from sordino_server.cli import log_rotations
from sordino_server.cli.log import app
from sordino_server.cli.log_monitor import Forked, Monitored, look
from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import exported, files, repository, restoring, rotation, service, setup
from sordino_server.public_log.integration import LogAhead, integrate
from sordino_server.public_log.signing import LogSigner, NoteSigner, add_seed, make_key_file, read_seeds
from sordino_server.public_log.witnessing import cosign, offer_text
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, LogEntry
from sordino_shared.protocol.log_entries import LoggedKey
from sordino_shared.protocol.log_keys import LogPins, NoteKey
from sordino_shared.protocol.log_notes import read_checkpoint
from tests.server.conftest import RunningServer
from tests.server.public_log.conftest import NOW, ORIGIN, settings_of
from tests.server.public_log.forged import ForgedLog, LyingTransport
from tests.server.public_log.test_copies import copied, publish
from tests.server.public_log.test_device import client_of, entry_of, joined_at, sign

DAY = 86_400


def rotate(database: Database, key: Path, now: int = NOW) -> NoteKey:
    """The next key, written by no worker yet."""
    with database.read() as session:
        log = repository.current(session)
    assert log is not None
    following = setup.next_key(settings_of(key), database, log, key)
    with database.write("rotate") as session:
        rotation.key_rotated(session, log, following.key, now)
    return following


def signer_of(key: Path) -> LogSigner:
    return LogSigner(ORIGIN, read_seeds(key))


def newest_signers(database: Database, key: Path) -> list[bool]:
    """Which keys of the file signed the newest checkpoint."""
    with database.read() as session:
        note = read_checkpoint(service.newest_note(session))
    return [each.signed(note) for each in signer_of(key).keys]


def test_both_keys_sign_for_thirty_days(database: Database, key: Path) -> None:
    publish(database, "one")
    integrate(database, signer_of(key), NOW)
    rotate(database, key)
    assert newest_signers(database, key) == [True, False]
    for number, (later, signed) in enumerate(
        ((0, [True, True]), (30 * DAY - 1, [True, True]), (30 * DAY, [False, True]))
    ):
        publish(database, f"text {number}")
        integrate(database, signer_of(key), NOW + later)
        assert newest_signers(database, key) == signed


def test_a_next_key_that_waited_for_long_is_signed_by_the_one_before(logging_server: RunningServer, key: Path) -> None:
    """No worker ran for longer than both would sign: the thirty days begin when one does."""
    database, clock, known = logging_server.database, logging_server.clock, Monitored()
    publish(database, "one")
    sign(logging_server)
    pins = LogPins(log=signer_of(key).keys[0])
    look(logging_server.address, pins, known, clock.now())
    rotate(database, key, clock.now())
    clock.advance(45 * DAY)
    for later, signed in ((0, [True, True]), (30 * DAY - 1, [True, True]), (1, [False, True])):
        clock.advance(later)
        publish(database, f"text {clock.now()}")
        sign(logging_server)
        assert newest_signers(database, key) == signed
        assert look(logging_server.address, pins, known, clock.now()).lies == []


def test_a_worker_without_the_next_key_says_which_file_to_copy(database: Database, key: Path, tmp_path: Path) -> None:
    before = shutil.copy(key, tmp_path / "before.key")
    rotate(database, key)
    with pytest.raises(InvalidValue, match="copy the file of SORDINO_LOG_KEY"):
        integrate(database, signer_of(Path(before)), NOW)
    assert integrate(database, signer_of(key), NOW) == 1
    with database.read() as session:
        log = repository.current(session)
    with pytest.raises(InvalidValue, match="has another key than the log"):
        setup.signer_of(settings_of(Path(before)), database, log)


def test_a_rotation_waits_for_the_one_before(database: Database, key: Path, log: Log) -> None:
    rotate(database, key)
    with pytest.raises(InvalidValue, match="waits for a worker"), database.write("again") as session:
        rotation.key_rotated(session, log, bytes(32), NOW)
    integrate(database, signer_of(key), NOW)
    with pytest.raises(InvalidValue, match="had this key before"), database.write("again") as session:
        rotation.key_rotated(session, log, log.key, NOW)
    for _ in range(2):
        rotate(database, key)
        integrate(database, signer_of(key), NOW)
    assert newest_signers(database, key) == [True] * 4
    with pytest.raises(InvalidValue, match="4 keys sign now"):
        rotate(database, key)


def test_the_key_as_a_witness_outlives_a_rotation(database: Database, key: Path, log: Log) -> None:
    first = setup.witness_signer(log, signer_of(key)).key
    rotate(database, key)
    assert setup.witness_signer(log, signer_of(key)).key == first


def app_of(server: RunningServer, ledger: Path, *keys: NoteKey, **options: Any) -> Client:
    return client_of(server, ledger, log=list(map(str, keys)), **options)


def test_apps_go_on_that_pin_the_old_key_both_or_the_new_one(
    logging_server: RunningServer, key: Path, tmp_path: Path
) -> None:
    first = logging_server.campaign("open", name="first")["id"]
    sign(logging_server)
    [old] = signer_of(key).keys
    for ledger in ("old", "both"):
        with app_of(logging_server, tmp_path / ledger, old) as client:
            client.join(first)
    new = rotate(logging_server.database, key, logging_server.clock.now())
    second = logging_server.campaign("open", name="second")["id"]
    sign(logging_server)
    for ledger, pinned in (("old", [old]), ("both", [old, new]), ("new", [new])):
        with app_of(logging_server, tmp_path / ledger, *pinned) as client:
            client.join(second)
            assert "entry 3 of 3" in str(client.account())
    logging_server.clock.advance(31 * DAY)
    third = logging_server.campaign("open", name="third")["id"]
    sign(logging_server)
    with (
        app_of(logging_server, tmp_path / "old", old) as client,
        pytest.raises(PlanRefused, match="no valid signature"),
    ):
        client.join(third)
    for pinned in ([old, new], [new]):
        with app_of(logging_server, tmp_path / "both", *pinned) as client:
            client.join(third)
            # The first was proved under the old key, and is told by an app that pins it.
            assert ("entry 1 of 1" in str(client.account())) == (old in pinned)


def test_a_fork_at_a_rotation_is_refused_by_an_app_that_ships_both(
    logging_server: RunningServer, key: Path, tmp_path: Path
) -> None:
    old, new = (NoteSigner.of_log(ORIGIN, seed) for seed in (*read_seeds(key), bytes([8]) * 32))
    honest, ledger = ForgedLog(old), tmp_path / "ledger"
    _, second = joined_at(logging_server, ledger, honest)
    fork = ForgedLog(new, list(reversed(honest.entries)))
    for size, reason in ((2, "two trees of 2 entries"), (3, "no longer has the checkpoint of 2 entries")):
        lying = LyingTransport(
            logging_server.address,
            lambda path, size=size: fork.proof(0, size),
            lambda size=size: fork.days({11: size}, size),
        )
        both = [str(old.key), str(new.key)]
        with client_of(logging_server, ledger, lying, log=both) as client, pytest.raises(PlanRefused, match=reason):
            client.join(second)
    goes_on = ForgedLog(new, [*honest.entries, entry_of(logging_server, second)])
    going = LyingTransport(
        logging_server.address, lambda path: goes_on.proof(1, 4), lambda: goes_on.days({10: 2, 12: 4}, 4)
    )
    with client_of(logging_server, ledger, going, log=both) as client:
        client.join(second)
    # An app that ships the new key alone finds what the one before kept.
    fork.entries.append(b"4")
    lying = LyingTransport(logging_server.address, lambda path: fork.proof(0, 4), lambda: fork.days({13: 4}, 4))
    with client_of(logging_server, ledger, lying, log=str(new.key)) as client:
        manifest = client._device._ledger.session_of_any(CampaignId.parse(second)).manifest
        with pytest.raises(PlanRefused, match="two trees of 4 entries"):
            client._run(client._device._log.check_manifest(manifest))


def test_a_backup_of_before_a_rotation_is_restored_with_the_file_of_the_keys(
    migrated_sqlite_url: str, key: Path, tmp_path: Path
) -> None:
    from tests.server.public_log.conftest import begin

    begin(migrated_sqlite_url, key)
    database, folder = Database(migrated_sqlite_url), tmp_path / "copy"
    publish(database, "one")
    integrate(database, signer_of(key), NOW)
    backup = copied(database, tmp_path / "backup.sqlite3")
    rotate(database, key)
    integrate(database, signer_of(key), NOW)
    publish(database, "later")
    integrate(database, signer_of(key), NOW + 31 * DAY)
    with database.read() as session:
        files.export(session, folder)
    for signer, error, reason in (
        (None, InvalidValue, "another log"),
        (lambda log: signer_of(key), LogAhead, "3 entries elsewhere and 1 here"),
    ):
        with pytest.raises(error, match=reason):
            exported.compare(backup, folder, signer)
    with pytest.raises(InvalidValue, match="is SORDINO_LOG_KEY the file of its newest key"):
        restoring.restore(backup, files.FolderFiles(folder), NOW)
    assert restoring.restore(backup, files.FolderFiles(folder), NOW, signer_of(key).keys) == (1, 3)
    publish(backup, "goes on")
    assert integrate(backup, signer_of(key), NOW + 31 * DAY) == 4
    assert newest_signers(backup, key) == [False, True]
    database.close()
    backup.close()


def test_a_witness_takes_either_key_that_it_names(database: Database, key: Path) -> None:
    old, new = (NoteSigner.of_log(ORIGIN, bytes([number]) * 32) for number in (7, 8))
    witness = NoteSigner.of_witness("w.example/log", bytes(32))
    log = ForgedLog(old, [b"a"])
    cosign(database, witness, [old.key, new.key], offer_text(0, (), log.note(1)).encode(), NOW)
    later = ForgedLog(new, [b"a", b"b"])
    content = offer_text(1, later.tree(2).consistency(1), later.note(2)).encode()
    with pytest.raises(ServerError, match="no valid signature"):
        cosign(database, witness, [old.key], content, NOW)
    cosign(database, witness, [old.key, new.key], content, NOW)


def test_a_monitor_follows_the_keys_and_tells_who_does_not_sign(
    logging_server: RunningServer, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, clock = logging_server.database, logging_server.clock
    logging_server.campaign("open")
    sign(logging_server)
    pins, known = LogPins(log=signer_of(key).keys[0]), Monitored()
    assert look(logging_server.address, pins, known, clock.now()).lies == []
    new = rotate(database, key, clock.now())
    sign(logging_server)
    found = look(logging_server.address, pins, known, clock.now())
    assert (found.lies, [each.event.kind for each in found.entries]) == ([], ["key"])
    assert known.keys == [(str(new), clock.now())]
    clock.advance(31 * DAY)
    publish(database, "later")
    sign(logging_server)
    assert look(logging_server.address, pins, known, clock.now()).lies == []
    with pytest.raises(Forked, match="no valid signature"):
        look(logging_server.address, pins, Monitored(), clock.now())
    # A server that signs with one of the two alone.
    at = clock.now()
    for missing in range(2):
        monkeypatch.undo()
        clock.advance(31 * DAY)
        keys = rotate(database, key, clock.now()), signer_of(key).keys[-2]
        one = signer_of(key).keys[-1 - missing]
        monkeypatch.setattr(rotation, "signing_keys", lambda session, log, now, one=one: (one,))
        sign(logging_server)
        lies = look(logging_server.address, LogPins(log=keys[1], others=keys[:1]), known, clock.now()).lies
        assert len(lies) == 1
        assert ("signs no more" in lies[0], "does not sign with it" in lies[0]) == (missing == 0, missing == 1)
    assert clock.now() > at


def test_an_old_key_that_was_stolen_names_no_next_one(
    logging_server: RunningServer, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, clock, known = logging_server.database, logging_server.clock, Monitored()
    publish(database, "one")
    sign(logging_server)
    old = signer_of(key).keys[0]
    pins = LogPins(log=old)
    look(logging_server.address, pins, known, clock.now())
    new = rotate(database, key, clock.now())
    sign(logging_server)
    # A third key that is pinned ahead of its rotation signs nothing yet, and that is no lie.
    prepared = NoteSigner.of_log(ORIGIN, bytes([9]) * 32).key
    further = LogPins(log=old, others=(new, prepared))
    assert look(logging_server.address, further, known, clock.now()).lies == []
    clock.advance(40 * DAY)
    # Signed by the old key and the thief's; by the entry's time the key before need not sign any more.
    thief = rotate(database, key, clock.now() - 31 * DAY)
    monkeypatch.setattr(rotation, "signing_keys", lambda session, log, now: (old, thief))
    sign(logging_server)
    [lie] = look(logging_server.address, pins, known, clock.now()).lies
    assert lie == f"the log names its next key {thief} in a tree that {new}, the key before, does not sign"


def test_a_next_key_that_is_none_is_told_and_not_followed() -> None:
    signers = [NoteSigner.of_log(ORIGIN, bytes([number]) * 32) for number in (7, 8)]
    old, new = (each.key for each in signers)
    note = read_checkpoint(ForgedLog(signers[0], [b"a"]).note(1))
    entries = [LogEntry(NOW, subject, LoggedKey()) for subject in (new.key, new.key, bytes(32))]
    named = log_rotations.usable([], entries, ORIGIN)
    assert named == [(str(new), NOW)]
    assert log_rotations.usable(named, entries, ORIGIN) == []
    for wrong in (entries[:2], entries[2:]):
        [lie] = log_rotations.misnamed(LogPins(log=old), [], wrong, note)
        assert "no Ed25519 key, or that it named before" in lie
    assert list(log_rotations.misnamed(LogPins(log=old), [], entries[:1], note)) == []


def test_another_log_needs_a_key_that_this_one_never_had(database: Database, key: Path) -> None:
    rotate(database, key)
    other = Settings(log_key=key, log_origin="other.example/log")
    for _ in range(2):
        with pytest.raises(InvalidValue, match="a new log needs a new key"):
            setup.begin(other, database, key, NOW, again=True)
        integrate(database, signer_of(key), NOW)


def test_the_file_of_the_keys_stays_its_owners(tmp_path: Path) -> None:
    file, link = tmp_path / "log.key", tmp_path / "link.key"
    make_key_file(file)
    link.symlink_to(file)
    if os.geteuid() == 0:
        # Root rotates the key of a server that runs as somebody else.
        os.chown(file, 1234, 1234)
    owner = file.stat().st_uid
    add_seed(link)
    assert (len(read_seeds(file)), file.stat().st_uid, link.is_symlink()) == (2, owner, True)


def test_the_command_prepares_rotates_and_shows_both(
    logging_server: RunningServer, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = logging_server.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("SORDINO_DATABASE_URL", url)
    monkeypatch.setenv("SORDINO_LOG_KEY", str(key))

    def told(*command: str) -> Any:
        ended = CliRunner().invoke(app, [*command, "--json"])
        assert ended.exit_code == 0, ended.output
        return json.loads(ended.stdout)

    before = told("show")
    prepared = told("rotate", "--prepare")
    assert prepared == told("rotate", "--prepare")
    assert (prepared["key"], prepared["until"]) == (before["key"], None)
    assert told("show")["keys"] == before["keys"] == [before["key"]]
    rotated = told("rotate")
    assert rotated["next"] == prepared["next"]
    assert key.stat().st_mode & 0o777 == 0o600
    with logging_server.database.read() as session:
        integrated = repository.current(session)
    assert integrated is not None
    integrate(logging_server.database, signer_of(key), rotated["until"] - 30 * DAY)
    shown = told("show")
    assert (shown["key"], shown["keys"]) == (rotated["next"], [before["key"], rotated["next"]])
    assert shown["witness_key"] == before["witness_key"]


def test_a_file_of_keys_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.key"
    for text in ("", "00" * 32 + "\n\n" + "11" * 32, "00" * 32 + "\n" + "00" * 32, "00" * 31, "zz" * 32):
        file.write_text(text)
        file.chmod(0o600)
        with pytest.raises(InvalidValue, match="a line of 64 hexadecimal digits"):
            read_seeds(file)
    file.write_text("00" * 32 + "\n" + "11" * 32 + "\n")
    assert read_seeds(file) == (bytes(32), bytes([17]) * 32)
