"""A server as the witness of another's log: what it cosigns, what never, and what the log's server makes of it."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.jobs import log_keeper
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import AskedWitness
from sordino_server.kit.migrations import upgrade
from sordino_server.models import Log
from sordino_server.public_log import repository, service
from sordino_server.public_log.cosigning import ask_witnesses
from sordino_server.public_log.integration import LogAhead, WitnessesSilent
from sordino_server.public_log.signing import NoteSigner, make_key_file, read_key_file
from sordino_server.public_log.witnessing import OtherSize, cosign, offer_text
from sordino_shared.errors import MalformedDocument, SordinoError
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from sordino_shared.protocol import Digest, Problem
from sordino_shared.protocol.log_days import LogDays
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_notes import checkpoint_text, read_checkpoint
from sordino_shared.protocol.log_proofs import LogProof
from tests.server.conftest import RunningServer, served
from tests.server.public_log.conftest import NOW, ORIGIN, begin
from tests.server.public_log.forged import ForgedLog

SEED = bytes([5]) * 32


@pytest.fixture
def forged() -> ForgedLog:
    return ForgedLog(NoteSigner.of_log(ORIGIN, SEED), [bytes([number]) for number in range(40)])


@pytest.fixture
def witness() -> NoteSigner:
    return NoteSigner.of_witness("w.example/log", bytes([6]) * 32)


def offer(log: ForgedLog, old: int, size: int) -> bytes:
    path = log.tree(size).consistency(old) if old else ()
    return offer_text(old, path, log.note(size)).encode()


def test_what_continues_the_last_checkpoint_is_cosigned(
    database: Database, forged: ForgedLog, witness: NoteSigner
) -> None:
    keys = [forged.signer.key]
    for old, size in ((0, 3), (3, 3), (3, 8), (8, 40)):
        line = cosign(database, witness, keys, offer(forged, old, size), NOW)
        note = read_checkpoint(forged.note(size) + line)
        assert LogPins(log=forged.signer.key, witnesses=(witness.key,), quorum=1).accept(note, NOW).at == NOW
    for old, size in ((0, 3), (3, 8), (8, 40)):
        with pytest.raises(OtherSize) as other:
            cosign(database, witness, keys, offer(forged, old, size), NOW)
        assert other.value.size == 40


def test_a_log_that_begins_with_the_empty_tree_goes_on(
    database: Database, forged: ForgedLog, witness: NoteSigner
) -> None:
    """C2SP allows a checkpoint of no entries; every tree continues it."""
    text = checkpoint_text(ORIGIN, 0, bytes(32))
    wrong = offer_text(0, (), f"{text}\n{forged.signer.signed(text)}").encode()
    with pytest.raises(ServerError, match="does not lead from 0 to 0"):
        cosign(database, witness, [forged.signer.key], wrong, NOW)
    for old, size in ((0, 0), (0, 0), (0, 7), (7, 9)):
        cosign(database, witness, [forged.signer.key], offer(forged, old, size), NOW)
    with pytest.raises(OtherSize):
        cosign(database, witness, [forged.signer.key], offer(forged, 0, 0), NOW)


def test_every_status_of_the_protocol(
    migrated_sqlite_url: str, key: Path, forged: ForgedLog, check_problem: Callable[..., dict[str, Any]]
) -> None:
    begin(migrated_sqlite_url, key)
    fork = ForgedLog(forged.signer, list(reversed(forged.entries)))
    stranger = ForgedLog(NoteSigner.of_log("other.example/log", SEED), forged.entries)
    liar = ForgedLog(NoteSigner.of_log(ORIGIN, bytes(32)), forged.entries)
    with served(migrated_sqlite_url, log_key=key, witnessed_logs=str(forged.signer.key)) as server:

        def post(content: bytes) -> Any:
            return server.anonymous.post("/witness/add-checkpoint", content=content)

        answer = post(offer(forged, 0, 7))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        signer = NoteSigner.of_witness(ORIGIN, read_key_file(key))
        assert signer.key.cosigned_at(read_checkpoint(forged.note(7) + answer.text)) == (server.clock.now(),)
        for content in (offer(forged, 0, 8), offer(fork, 7, 7)):
            answer = post(content)
            assert (answer.status_code, answer.text) == (409, "7\n")
            assert answer.headers["content-type"].startswith("text/x.tlog.size")
        check_problem(post(offer(stranger, 0, 7)), Problem.NOT_FOUND, "does not witness")
        check_problem(post(offer(liar, 7, 8)), Problem.FORBIDDEN, "no valid signature")
        check_problem(post(offer(fork, 7, 9)), Problem.INVALID_REQUEST, "does not lead from 7 to 9")
        whole = offer(forged, 7, 9)
        for wrong in (b"", b"old 7\n", whole.replace(b"old 7", b"old 07"), whole.replace(b"old 7", b"old 12"),
                      whole.replace(b"old 7", b"7"), b"\xff" + whole, whole[:-1]):  # fmt: skip
            check_problem(post(wrong), Problem.MALFORMED_BODY)
        check_problem(post(b"x" * (1 << 20)), Problem.TOO_LARGE)
    with served(migrated_sqlite_url, log_key=key) as server:
        answer = server.anonymous.post("/witness/add-checkpoint", content=offer(forged, 7, 9))
        check_problem(answer, Problem.NOT_FOUND, "witnesses no logs")


def test_of_eight_forks_at_once_one_is_cosigned(database: Database, forged: ForgedLog, witness: NoteSigner) -> None:
    """Without one transaction for comparing and storing, two requests at once roll the witness back."""
    cosign(database, witness, [forged.signer.key], offer(forged, 0, 1), NOW)
    forks = [ForgedLog(forged.signer, [*forged.entries[:1], bytes([100 + number])]) for number in range(8)]
    gate, signed, refused = threading.Barrier(8), list[bytes](), list[SordinoError]()

    def ask(log: ForgedLog) -> None:
        content = offer(log, 1, 2)
        gate.wait()
        try:
            cosign(database, witness, [forged.signer.key], content, NOW)
            signed.append(content)
        except SordinoError as error:
            refused.append(error)

    threads = [threading.Thread(target=ask, args=(log,)) for log in forks]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(signed) == 1
    assert [type(error) for error in refused] == [OtherSize] * 7


@pytest.mark.parametrize("histories", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_forked_histories_are_cosigned_on_one_side_only(
    migrated_sqlite_url: str, witness: NoteSigner, histories: int
) -> None:
    """Two branches offered in any order, with wrong proofs and wrong sizes between: a client that needs this witness
    sees one of them, or two cosigned checkpoints would contradict.
    """
    database, chance = Database(migrated_sqlite_url), random.Random(36)
    for number in range(histories):
        signer = NoteSigner.of_log(f"log-{number}.example/log", SEED)
        common = [bytes([chance.randrange(256)]) for _ in range(chance.randrange(1, 6))]
        branches = [ForgedLog(signer, [*common, bytes([side]), *common]) for side in range(2)]
        cosigned: list[tuple[int, Digest, int]] = []
        sizes = range(1, 2 * len(common) + 2)
        for _ in range(12):
            side, other = chance.randrange(2), chance.randrange(2)
            size = chance.choice(sizes)
            old = chance.choice([0, *(each for each, _, _ in cosigned), chance.choice(sizes)])
            path = branches[other].tree(size).consistency(old) if 0 < old <= size else ()
            content = offer_text(old, path, branches[side].note(size)).encode()
            try:
                cosign(database, witness, [signer.key], content, NOW)
            except (SordinoError, MalformedDocument):
                continue
            cosigned.append((size, branches[side].tree(size).root(), side))
        for size, root, _ in cosigned:
            # All that was cosigned is of one branch: that of the largest.
            last = max(cosigned)[2]
            assert branches[last].tree(size).root() == root, number
    database.close()


@pytest.fixture
def witnessed(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[tuple[RunningServer, RunningServer]]:
    """A server whose log another server witnesses, both on loopback."""
    with ExitStack() as stack:
        witness_url, keys = f"sqlite:///{tmp_path}/witness.sqlite3", [tmp_path / "log.key", tmp_path / "w.key"]
        other = Database(witness_url)
        upgrade(other)
        other.close()
        begin(migrated_sqlite_url, keys[0])
        begin(witness_url, keys[1])
        logged = str(NoteSigner.of_log(ORIGIN, read_key_file(keys[0])).key)
        witness = stack.enter_context(served(witness_url, log_key=keys[1], witnessed_logs=logged))
        vouching = NoteSigner.of_witness(ORIGIN, read_key_file(keys[1])).key
        listed = f"{witness.address} {vouching}"
        yield stack.enter_context(served(migrated_sqlite_url, log_key=keys[0], witnesses=listed)), witness


def test_a_campaign_opens_when_its_witnesses_saw_it(
    witnessed: tuple[RunningServer, RunningServer], check_problem: Callable[..., dict[str, Any]]
) -> None:
    server, witness = witnessed
    campaign = server.campaign()["id"]
    path = f"/v1/campaigns/{campaign}/open"
    problem = check_problem(server.api.post(path), Problem.UNAVAILABLE, "stays ready", "telemetry.example/witness")
    assert problem["missing"] == ["telemetry.example/witness"]
    keeper = LogKeeper(server.database, server.clock, server.settings)
    assert keeper.step() == 1
    assert server.api.post(path).raise_for_status().json()["state"] == "open"
    proof = LogProof.read(server.anonymous.get(f"/v1/campaigns/{campaign}/log-proof").content)
    [asked] = server.settings.witnesses_asked
    pins = LogPins(log=NoteSigner.of_log(ORIGIN, read_key_file(server.settings.log_key)).key, witnesses=(asked.key,))
    assert replace_quorum(pins, 1).accept(proof.checkpoint, NOW).witnesses == (asked.key.name,)
    assert server.api.get("/v1/log").json()["witnesses"] == [asked.key.name]
    with witness.database.read() as session:
        from sordino_server.public_log.repository import last_witnessed

        assert last_witnessed(session, ORIGIN).size == 1


def replace_quorum(pins: LogPins, quorum: int) -> LogPins:
    return LogPins(log=pins.log, witnesses=pins.witnesses, quorum=quorum)


def test_a_campaign_opens_without_witnesses_where_the_operator_says_so(
    witnessed: tuple[RunningServer, RunningServer],
) -> None:
    server, _ = witnessed
    campaign = server.campaign()["id"]
    answer = server.api.post(f"/v1/campaigns/{campaign}/open?unwitnessed=true").raise_for_status()
    assert answer.json()["state"] == "open"


def test_devices_are_shown_what_the_witnesses_saw(witnessed: tuple[RunningServer, RunningServer]) -> None:
    server, _ = witnessed
    first = server.campaign()["id"]
    LogKeeper(server.database, server.clock, server.settings).step()
    second = server.campaign(name="second")["id"]
    alone = Settings(log_key=server.settings.log_key)
    LogKeeper(server.database, server.clock, alone).step()
    sizes = [
        LogProof.read(server.anonymous.get(f"/v1/campaigns/{each}/log-proof").content).checkpoint.size
        for each in (first, second)
    ]
    assert sizes == [1, 2]
    assert LogDays.read(server.anonymous.get("/v1/log/days").content).newest.size == 1


def test_a_restored_backup_hears_of_it_from_its_witness_and_signs_nothing(
    witnessed: tuple[RunningServer, RunningServer], tmp_path: Path, check_problem: Callable[..., dict[str, Any]]
) -> None:
    server, _ = witnessed
    server.campaign()
    LogKeeper(server.database, server.clock, server.settings).step()
    with closing(sqlite3.connect(str(server.database.url.database))) as raw:
        raw.execute("VACUUM INTO ?", (f"{tmp_path}/backup.sqlite3",))
    server.campaign(name="later")
    assert LogKeeper(server.database, server.clock, server.settings).step() == 2
    with served(f"sqlite:///{tmp_path}/backup.sqlite3", **restored_settings(server)) as restored:
        campaign = restored.campaign(name="another")["id"]
        with pytest.raises(LogAhead, match="2 entries elsewhere and 1 here"):
            LogKeeper(restored.database, restored.clock, restored.settings).step()
        assert restored.api.get("/v1/log").json()["ahead"] == 2
        check_problem(restored.anonymous.get(f"/v1/campaigns/{campaign}/log-proof"), Problem.LOG_AHEAD, "restored")
        with restored.database.read() as session:
            assert service.state(session).checkpoint.size == 1


def test_a_backup_from_before_the_first_checkpoint_signs_nothing(
    witnessed: tuple[RunningServer, RunningServer], tmp_path: Path
) -> None:
    """It has the log and not one entry; the witness has checkpoints of it."""
    server, _ = witnessed
    with closing(sqlite3.connect(str(server.database.url.database))) as raw:
        raw.execute("VACUUM INTO ?", (f"{tmp_path}/backup.sqlite3",))
    for name in ("first", "second"):
        server.campaign(name=name)
    assert LogKeeper(server.database, server.clock, server.settings).step() == 2
    with served(f"sqlite:///{tmp_path}/backup.sqlite3", **restored_settings(server)) as restored:
        restored.campaign(name="another")
        keeper = LogKeeper(restored.database, restored.clock, restored.settings)
        with pytest.raises(LogAhead, match="2 entries elsewhere and 0 here"):
            keeper.step()
        assert restored.api.get("/v1/log").json()["size"] == 0


@pytest.mark.parametrize(("status", "begins"), [(400, True), (403, True), (404, True), (422, True), (503, False)])
def test_a_new_log_begins_where_witnesses_know_nothing_of_it(
    logging_server: RunningServer, witness: NoteSigner, monkeypatch: pytest.MonkeyPatch, status: int, begins: bool
) -> None:
    """Other programs may refuse the checkpoint of no entries: that says that they have none."""
    logging_server.campaign()
    asking = partial(ask_witnesses, connect=lambda address: _Answering(status, ""))
    monkeypatch.setattr(log_keeper, "ask_witnesses", asking)
    settings = logging_server.settings.model_copy(update={"witnesses": f"http://127.0.0.1:9 {witness.key}"})
    keeper = LogKeeper(logging_server.database, logging_server.clock, settings)
    if begins:
        assert keeper.step() == 1
    else:
        with pytest.raises(WitnessesSilent):
            keeper.step()


def restored_settings(server: RunningServer) -> dict[str, Any]:
    return {"log_key": server.settings.log_key, "witnesses": server.settings.witnesses}


def test_a_witness_that_is_down_or_answers_otherwise_is_named(
    migrated_sqlite_url: str, key: Path, running: RunningServer, witness: NoteSigner, tmp_path: Path
) -> None:
    with running.database.write("no log") as session:
        assert repository.current(session) is None
    url = f"sqlite:///{tmp_path}/mine.sqlite3"
    mine = Database(url)
    upgrade(mine)
    begin(url, key)
    listed = f"http://127.0.0.1:9 {witness.key},{running.address} {NoteSigner.of_witness('x.example', SEED).key}"
    with served(url, log_key=key, witnesses=listed) as server:
        server.campaign()
        LogKeeper(server.database, server.clock, server.settings).step()
        down, other = ask_witnesses(server.database, server.settings.witnesses_asked)
        assert down.witness == "w.example/witness"
        assert other.reason.startswith("it answers 404")
        with server.database.read() as session:
            log = repository.current(session)
            assert isinstance(log, Log)
            assert repository.largest_cosigned(session, log) == {}
    mine.close()


class _Answering:
    """A witness that answers each offer with this status and text."""

    def __init__(self, status: int, text: str) -> None:
        self.answer = status, text

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        status, text = self.answer
        return HttpAnswer(status, {}, BytesIO(text.encode()))


def test_of_an_answer_the_line_that_holds_is_kept(logging_server: RunningServer, witness: NoteSigner) -> None:
    logging_server.campaign()
    LogKeeper(logging_server.database, logging_server.clock, logging_server.settings).step()
    with logging_server.database.read() as session:
        text = read_checkpoint(service.newest_note(session)).text
    good, wrong = (witness.cosigned(each, NOW) for each in (text, "another\n"))
    asked = [AskedWitness("http://w.example", witness.key)]
    answering = _Answering(200, wrong + good)
    assert ask_witnesses(logging_server.database, asked, connect=lambda address: answering) == []
    with logging_server.database.read() as session:
        assert service.newest_note(session).endswith(good)
        assert wrong not in service.newest_note(session)


@pytest.mark.parametrize("size", ["9" * 19, "9" * 40, "٥", "-1", "many"])
def test_a_size_that_no_log_has_stops_no_log(logging_server: RunningServer, witness: NoteSigner, size: str) -> None:
    logging_server.campaign()
    LogKeeper(logging_server.database, logging_server.clock, logging_server.settings).step()
    asked = [AskedWitness("http://w.example", witness.key)]
    [unseen] = ask_witnesses(logging_server.database, asked, connect=lambda address: _Answering(409, size))
    assert unseen.silent
    assert logging_server.api.get("/v1/log").json()["ahead"] is None


class _Claiming:
    """A witness that says it knows so many entries, and shows a note for it."""

    def __init__(self, size: int, shown: str | None) -> None:
        self.size, self.shown = size, shown

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        if request.method == "POST":
            return HttpAnswer(409, {}, BytesIO(f"{self.size}\n".encode()))
        found = self.shown is not None
        return HttpAnswer(200 if found else 404, {}, BytesIO((self.shown or "").encode()))


def test_a_witness_that_claims_more_shows_what_the_log_signed(
    logging_server: RunningServer, witness: NoteSigner, key: Path
) -> None:
    """A lie about a size stops no log; a checkpoint of it, signed by its key, does."""
    logging_server.campaign()
    LogKeeper(logging_server.database, logging_server.clock, logging_server.settings).step()
    asked = [AskedWitness("http://w.example", witness.key)]
    own = ForgedLog(NoteSigner.of_log(ORIGIN, read_key_file(key)), [bytes([each]) for each in range(9)])
    stranger = ForgedLog(NoteSigner.of_log(ORIGIN, SEED), own.entries)
    another = ForgedLog(NoteSigner.of_log("other.example/log", read_key_file(key)), own.entries)
    for shown in (
        None,
        "",
        "nonsense",
        stranger.note(9),
        another.note(9),
        own.note(1),
        own.note(9).replace("\n9\n", "\n8\n"),
    ):
        claiming = _Claiming(9, shown)
        [unseen] = ask_witnesses(logging_server.database, asked, connect=lambda address, found=claiming: found)
        assert unseen.silent, shown
        assert logging_server.api.get("/v1/log").json()["ahead"] is None
    assert "signed" in unseen.reason
    logging_server.campaign(name="goes on")
    assert LogKeeper(logging_server.database, logging_server.clock, logging_server.settings).step() == 2
    [unseen] = ask_witnesses(logging_server.database, asked, connect=lambda address: _Claiming(9, own.note(9)))
    assert (unseen.silent, logging_server.api.get("/v1/log").json()["ahead"]) == (False, 9)


def test_of_two_witnesses_the_one_that_knows_most_counts(
    logging_server: RunningServer, witness: NoteSigner, key: Path
) -> None:
    """Else a database that was restored up to the smaller size would sign a fork of the larger one."""
    logging_server.campaign()
    LogKeeper(logging_server.database, logging_server.clock, logging_server.settings).step()
    own = ForgedLog(NoteSigner.of_log(ORIGIN, read_key_file(key)), [bytes([each]) for each in range(9)])
    second = NoteSigner.of_witness("v.example/log", SEED)
    asked = [AskedWitness("http://9.example", witness.key), AskedWitness("http://5.example", second.key)]

    def claiming(address: str) -> _Claiming:
        size = int(address.removeprefix("http://")[0])
        return _Claiming(size, own.note(size))

    assert len(ask_witnesses(logging_server.database, asked, connect=claiming)) == 2
    assert logging_server.api.get("/v1/log").json()["ahead"] == 9


def test_a_witness_shows_the_last_checkpoint_that_it_cosigned(
    witnessed: tuple[RunningServer, RunningServer], check_problem: Callable[..., dict[str, Any]]
) -> None:
    server, witness = witnessed
    path = f"/witness/checkpoint?origin={ORIGIN.replace('/', '%2F')}"
    check_problem(witness.anonymous.get(path), Problem.NOT_FOUND, "no checkpoint")
    server.campaign()
    LogKeeper(server.database, server.clock, server.settings).step()
    found = witness.anonymous.get(path)
    with server.database.read() as session:
        newest = repository.newest_checkpoint(session, service.the_log(session))
    assert (found.status_code, found.text) == (200, newest.note)
    assert found.headers["content-type"] == "text/plain; charset=utf-8"


def test_nothing_is_signed_until_a_witness_says_what_it_knows(
    witnessed: tuple[RunningServer, RunningServer],
) -> None:
    """A restored backup that begins while its witness is down would fork the log."""
    server, _ = witnessed
    server.campaign()
    LogKeeper(server.database, server.clock, server.settings).step()
    server.campaign(name="later")
    [asked] = server.settings.witnesses_asked
    down = f"http://127.0.0.1:9 {asked.key}"
    for settings, signs in (
        (server.settings.model_copy(update={"witnesses": down}), False),
        (server.settings.model_copy(update={"witnesses": down, "log_quorum": 0}), True),
    ):
        keeper = LogKeeper(server.database, server.clock, settings)
        if signs:
            assert keeper.step() == 2
        else:
            for _ in range(2):
                with pytest.raises(WitnessesSilent, match="cannot be asked"):
                    keeper.step()
            assert server.api.get("/v1/log").json()["size"] == 1


def test_a_key_of_another_server_is_not_taken_for_a_cosignature(tmp_path: Path) -> None:
    file = tmp_path / "k"
    make_key_file(file)
    first, second = (NoteSigner.of_witness(ORIGIN, seed) for seed in (read_key_file(file), SEED))
    log = ForgedLog(NoteSigner.of_log(ORIGIN, SEED), [b"a"])
    note = read_checkpoint(log.note(1, (first, NOW)))
    assert first.key.cosigned_at(note) == (NOW,)
    assert second.key.cosigned_at(note) == ()
    assert replace(first, name="z").key.cosigned_at(note) == ()
