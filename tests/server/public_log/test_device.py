"""What a device that pins a log joins and refuses, over real servers: each row of the table in docs/log.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sordino_client import Caps, Client, PlanRefused, PlanUnavailable, WrongArgument
from sordino_client._log_marks import LedgerRows, evidence
from sordino_client._storage import Storage
from sordino_client.backend import LedgerStore
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.public_log import repository
from sordino_server.public_log.signing import NoteSigner, read_key_file
from sordino_shared._records import replace
from sordino_shared.protocol import Digest, LogEntry, Manifest
from sordino_shared.protocol.log_entries import LoggedPlan, entry_of_manifest, logged_parts
from sordino_shared.protocol.log_keys import LOG_KIND, NoteKey
from tests.server.conftest import RunningServer
from tests.server.public_log.conftest import ORIGIN
from tests.server.public_log.forged import ForgedLog, LyingTransport

DAY = 86_400
CAPS = Caps.of(1, days=28, lifetime=12)


def sign(server: RunningServer) -> None:
    LogKeeper(server.database, server.clock, server.settings).step()


def log_key(server: RunningServer) -> str:
    with server.database.read() as session:
        found = repository.current(session)
    assert found is not None
    return str(NoteKey(found.origin, LOG_KIND, found.key))


def client_of(server: RunningServer, ledger: Path, transport: LyingTransport | None = None, **changes: Any) -> Client:
    pinned = {"log": log_key(server)} | changes
    return Client(
        server.address, ledger=ledger, caps=CAPS, clock=server.clock, transport=transport, allow_http=True, **pinned
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


@pytest.fixture
def forged(logging_server: RunningServer, key: Path) -> ForgedLog:
    """A log of the server's key whose entries a test writes."""
    return ForgedLog(NoteSigner.of_log(ORIGIN, read_key_file(key)))


def entry_of(server: RunningServer, campaign: str, **changes: Any) -> bytes:
    """The entry of a campaign, with other fields of its event."""
    manifest = Manifest.read(server.anonymous.get(f"/v1/campaigns/{campaign}").content)
    entry = entry_of_manifest(manifest, logged_parts(manifest), server.clock.now())
    return LogEntry(entry.at, entry.subject, replace(entry.event, **changes)).content


def kept_evidence(ledger: Path) -> list[bytes]:
    storage = Storage(ledger)
    with storage.read() as connection:
        found = evidence(LedgerRows(connection))
    storage.close()
    return found


def test_a_campaign_in_the_log_is_joined_and_the_account_says_it(logging_server: RunningServer, ledger: Path) -> None:
    campaign = logging_server.campaign("open")["id"]
    with client_of(logging_server, ledger) as client:
        with pytest.raises(PlanUnavailable, match="503"):
            client.join(campaign)
        sign(logging_server)
        client.join(campaign)
        assert client.answer(campaign, 7).status == "recorded"
        account = client.account()
    line = next(line for line in str(account).splitlines() if "log:" in line)
    root = logging_server.api.get("/v1/log").json()["root"]
    assert line.strip() == f"log: entry 1 of 1, root {root[:4]} {root[4:8]} {root[8:12]} {root[12:16]} …"
    shown = account.to_dict()["campaigns"][0]["log"]
    assert (shown["index"], shown["size"], shown["root"], shown["witnesses"]) == (1, 1, root, [])
    assert shown["proof"].startswith("c2sp.org/tlog-proof@v1\n")


def test_two_requests_a_join_are_the_same_for_every_device(logging_server: RunningServer, tmp_path: Path) -> None:
    campaign = logging_server.campaign("open")["id"]
    sign(logging_server)
    asked = []
    for number in range(2):
        transport = LyingTransport(logging_server.address)
        with client_of(logging_server, tmp_path / str(number), transport) as client:
            client.join(campaign)
        asked.append([path for path in transport.asked if "log" in path])
    assert asked == [[f"/v1/campaigns/{campaign}/log-proof", "/v1/log/days"]] * 2


def test_without_a_log_a_device_that_requires_it_joins_later_and_one_that_prefers_it_now(
    running: RunningServer, logging_server: RunningServer, tmp_path: Path
) -> None:
    campaign = running.campaign("open")["id"]
    pinned = log_key(logging_server)
    for policy, joins in (("require", False), ("prefer", True)):
        with client_of(running, tmp_path / policy, log=pinned, log_policy=policy) as client:
            if joins:
                client.join(campaign)
                assert "  log: not in the public log yet" in str(client.account()).splitlines()
                assert client.answer(campaign, 7).status == "recorded"
            else:
                with pytest.raises(PlanUnavailable, match="log proof"):
                    client.join(campaign)


def test_a_device_that_joined_without_a_proof_asks_for_it_daily(logging_server: RunningServer, ledger: Path) -> None:
    campaign = logging_server.campaign("open")["id"]
    transport = LyingTransport(logging_server.address)
    with client_of(logging_server, ledger, transport, log_policy="prefer") as client:
        client.join(campaign)
        sign(logging_server)
        asked = len(transport.asked)
        client.answer(campaign, 7)
        assert not any("log" in path for path in transport.asked[asked:])
        assert "not in the public log yet" in str(client.account())
        logging_server.clock.advance(DAY)
        client.answer(campaign, 7)
        assert "log: entry 1 of 1" in str(client.account())
        asked = len(transport.asked)
        logging_server.clock.advance(2 * DAY)
        client.answer(campaign, 7)
        assert not any("log" in path for path in transport.asked[asked:])


def test_a_log_that_is_down_stops_nobody_who_joined(logging_server: RunningServer, ledger: Path) -> None:
    campaign = logging_server.campaign("open")["id"]
    sign(logging_server)
    with client_of(logging_server, ledger) as client:
        client.join(campaign)
    down = LyingTransport(logging_server.address, proof=lambda path: None, days=lambda: None)
    with client_of(logging_server, ledger, down) as client:
        client.join(campaign)
        assert client.answer(campaign, 7).status == "recorded"
        assert client.flush().delivered == 1


@pytest.mark.parametrize("policy", ["require", "prefer"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nano_epsilon": 10**8}, "says other things than the manifest"),
        ({"population": "others"}, "says other things than the manifest"),
        ({"parts": (Digest(bytes(32)),)}, "says other things than the manifest"),
    ],
)
def test_an_entry_that_is_not_the_manifests_is_refused_and_kept(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog, policy: str, changes: Any, reason: str
) -> None:
    campaign = logging_server.campaign("open")["id"]
    forged.entries.append(entry_of(logging_server, campaign, **changes))
    lying = LyingTransport(logging_server.address, lambda path: forged.proof(0, 1), lambda: forged.days({1: 1}, 1))
    with client_of(logging_server, ledger, lying, log_policy=policy) as client:
        with pytest.raises(PlanRefused, match=reason):
            client.join(campaign)
        assert client.account().campaigns == ()
    assert kept_evidence(ledger) == [forged.proof(0, 1).encode()]


def test_the_valid_proof_of_another_campaign_is_refused(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    campaign = logging_server.campaign("open")["id"]
    other = logging_server.campaign("open", name="other")["id"]
    forged.entries.append(entry_of(logging_server, other))
    lying = LyingTransport(logging_server.address, lambda path: forged.proof(0, 1), lambda: forged.days({1: 1}, 1))
    with client_of(logging_server, ledger, lying) as client, pytest.raises(PlanRefused, match="about another thing"):
        client.join(campaign)


def test_a_proof_of_another_key_or_origin_is_refused_without_evidence(
    logging_server: RunningServer, ledger: Path
) -> None:
    campaign = logging_server.campaign("open")["id"]
    for signer, reason in (
        (NoteSigner.of_log(ORIGIN, bytes(32)), "no valid signature"),
        (NoteSigner.of_log("other.example/log", bytes(32)), "not of telemetry.example/log"),
    ):
        forged = ForgedLog(signer, [entry_of(logging_server, campaign)])
        lying = LyingTransport(
            logging_server.address, lambda path, at=forged: at.proof(0, 1), lambda at=forged: at.days({1: 1}, 1)
        )
        with client_of(logging_server, ledger, lying) as client, pytest.raises(PlanRefused, match=reason):
            client.join(campaign)
    assert kept_evidence(ledger) == []


def joined_at(server: RunningServer, ledger: Path, log: ForgedLog, **options: Any) -> tuple[str, str]:
    """Two campaigns in the log; the device joined the first one at day 10, size 2."""
    first, second = (server.campaign("open", name=name)["id"] for name in ("first", "second"))
    log.entries += [entry_of(server, first), entry_of(server, second), entry_of(server, second)]
    cosigners = options.pop("cosigners", ())
    honest = LyingTransport(
        server.address, lambda path: log.proof(0, 2, *cosigners), lambda: log.days({10: 2}, 2, *cosigners)
    )
    with client_of(server, ledger, honest, **options) as client:
        client.join(first)
    return first, second


def test_a_fork_is_refused_and_both_sides_are_kept(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    _, second = joined_at(logging_server, ledger, forged)
    fork = ForgedLog(forged.signer, list(reversed(forged.entries)))
    for size, days, reason in (
        (2, {10: 2}, "two trees of 2 entries"),
        (3, {10: 1, 11: 3}, "no longer has the checkpoint of 2 entries"),
        (3, {9: 1}, "no longer has the checkpoint of 2 entries"),
        # Shorter than 32 days, though none of them is as early as the one that was kept.
        (3, {11: 3}, "no longer has the checkpoint of 2 entries"),
        (3, {}, "has none"),
    ):
        lying = LyingTransport(
            logging_server.address,
            lambda path, size=size: fork.proof(0, size),
            lambda size=size, days=days: fork.days(days, size),
        )
        with client_of(logging_server, ledger, lying) as client, pytest.raises(PlanRefused, match=reason):
            client.join(second)
    assert set(kept_evidence(ledger)) == {fork.proof(0, size).encode() for size in (2, 3)}
    honest = LyingTransport(logging_server.address, lambda path: forged.proof(1, 3), lambda: forged.days({10: 2}, 3))
    with client_of(logging_server, ledger, honest) as client:
        client.join(second)


def test_a_device_that_was_away_for_longer_than_the_list_goes_on(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    _, second = joined_at(logging_server, ledger, forged)
    forged.entries += forged.entries[1:2] * 40
    today = logging_server.clock.now() // DAY
    for newest, joins in ((today + 2, False), (today + 1, True)):
        listed = {newest - 31 + number: 3 + number for number in range(32)}
        late = LyingTransport(
            logging_server.address,
            lambda path: forged.proof(1, 40),
            lambda listed=listed: forged.days(listed, 40),  # type: ignore[misc]
        )
        with client_of(logging_server, ledger, late) as client:
            if joins:
                client.join(second)
                assert "entry 2 of 40" in str(client.account())
            else:
                with pytest.raises(PlanUnavailable, match="yet to come"):
                    client.join(second)


def test_another_log_under_the_same_name_begins_anew(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    """After the loss of a key or a database the operator begins another log, and the app pins its key."""
    first, second = joined_at(logging_server, ledger, forged)
    again = ForgedLog(NoteSigner.of_log(ORIGIN, bytes([4]) * 32), forged.entries[1:2])
    honest = LyingTransport(logging_server.address, lambda path: again.proof(0, 1), lambda: again.days({11: 1}, 1))
    with client_of(logging_server, ledger, honest, log=str(again.signer.key)) as client:
        client.join(second)
        shown = {str(each.campaign): str(each.log) for each in client.account().campaigns}
    assert shown[second].startswith("log: entry 1 of 1")
    assert shown[first] == "log: not in the public log yet"


def test_a_refused_proof_is_none_of_the_accepted_ones(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    """Both are of one checkpoint: the refused one stays evidence, and the account does not show it."""
    first, second = (logging_server.campaign("open", name=name)["id"] for name in ("first", "second"))
    forged.entries += [entry_of(logging_server, first, nano_epsilon=1), entry_of(logging_server, second)]
    none = LyingTransport(logging_server.address, lambda path: None, lambda: None)
    with client_of(logging_server, ledger, none, log_policy="prefer") as client:
        client.join(first)
    lying = LyingTransport(
        logging_server.address, lambda path: forged.proof(int(second in path), 2), lambda: forged.days({1: 2}, 2)
    )
    logging_server.clock.advance(DAY)
    with client_of(logging_server, ledger, lying, log_policy="prefer") as client:
        client.answer(first, 7)
        client.join(second)
        shown = {str(each.campaign): str(each.log) for each in client.account().campaigns}
    assert shown[first] == "log: not in the public log yet"
    assert shown[second].startswith("log: entry 2 of 2")
    assert kept_evidence(ledger) == [forged.proof(0, 2).encode()]


def test_a_log_that_went_back_is_refused_and_an_older_answer_waited_out(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    witness = NoteSigner.of_witness("w.example/log", bytes(32))
    now = logging_server.clock.now()
    pinned = {"witnesses": [str(witness.key)], "quorum": 1}
    _, second = joined_at(logging_server, ledger, forged, cosigners=[(witness, now)], **pinned)
    forged.entries[0] = entry_of(logging_server, second)
    for at, error, reason in (
        (now - 9, PlanUnavailable, "a cache may have kept an older answer"),
        (now - 3 * DAY, PlanUnavailable, "a cache may have kept an older answer"),
        (now + 9, PlanRefused, "it went back"),
    ):
        older = LyingTransport(
            logging_server.address,
            lambda path, at=at: forged.proof(0, 1, (witness, at)),
            lambda at=at: forged.days({10: 1}, 1, (witness, at)),
        )
        with client_of(logging_server, ledger, older, **pinned) as client, pytest.raises(error, match=reason):
            client.join(second)


def test_witnesses_are_needed_as_the_quorum_says(
    logging_server: RunningServer, tmp_path: Path, forged: ForgedLog
) -> None:
    campaign = logging_server.campaign("open")["id"]
    forged.entries.append(entry_of(logging_server, campaign))
    one, two = (NoteSigner.of_witness(f"{name}.example/log", bytes([7]) * 32) for name in "ab")
    two = NoteSigner.of_witness("b.example/log", bytes([8]) * 32)
    now, keys = logging_server.clock.now(), [str(one.key), str(two.key)]
    for number, (cosigners, quorum, joins) in enumerate([
        ([], 0, True),
        ([], None, False),
        ([(one, now)], None, True),
        ([(one, now), (one, now + 1)], 2, False),
        ([(one, now), (two, now)], 2, True),
        ([(one, now), (two, now + DAY + 1)], 2, False),
    ]):  # fmt: skip
        lying = LyingTransport(
            logging_server.address,
            lambda path, by=tuple(cosigners): forged.proof(0, 1, *by),
            lambda by=tuple(cosigners): forged.days({10: 1}, 1, *by),
        )
        with client_of(logging_server, tmp_path / str(number), lying, witnesses=keys, quorum=quorum) as client:
            if joins:
                client.join(campaign)
                seen = len({each.name for each, _ in cosigners})
                assert len(client.account().campaigns[0].log.witnesses) == seen
            else:
                with pytest.raises(PlanUnavailable, match="of its witnesses vouch for it"):
                    client.join(campaign)


def test_proofs_of_two_moments_are_fetched_twice(
    logging_server: RunningServer, ledger: Path, forged: ForgedLog
) -> None:
    campaign = logging_server.campaign("open")["id"]
    forged.entries += [entry_of(logging_server, campaign)] * 2
    sizes = iter([1, 2, 2, 2])
    moving = LyingTransport(
        logging_server.address, lambda path: forged.proof(0, next(sizes)), lambda: forged.days({1: 1}, next(sizes))
    )
    with client_of(logging_server, ledger, moving) as client:
        client.join(campaign)
    still = LyingTransport(logging_server.address, lambda path: forged.proof(0, 1), lambda: forged.days({1: 1}, 2))
    other = client_of(logging_server, ledger.with_name("other"), still)
    with other as client, pytest.raises(PlanUnavailable, match="two moments"):
        client.join(campaign)


def test_a_later_plan_needs_its_own_entry(logging_server: RunningServer, ledger: Path, forged: ForgedLog) -> None:
    campaign = logging_server.campaign("open")["id"]
    manifest = Manifest.read(logging_server.anonymous.get(f"/v1/campaigns/{campaign}").content)
    digest, other = Digest(bytes([1]) * 32), Digest(bytes([2]) * 32)
    forged.entries.append(LogEntry(5, bytes(digest), LoggedPlan(manifest.campaign, 1)).content)
    lying = LyingTransport(logging_server.address, lambda path: forged.proof(0, 1), lambda: forged.days({1: 1}, 1))
    with client_of(logging_server, ledger, lying) as client:
        log = client._device._log
        client._run(log.check_plan(manifest.campaign, 1, digest))
        assert lying.asked[-2:] == [f"/v1/campaigns/{campaign}/rounds/1/log-proof", "/v1/log/days"]
        for index, wrong in ((1, other), (2, digest)):
            with pytest.raises(PlanRefused, match="not that of plan"):
                client._run(log.check_plan(manifest.campaign, index, wrong))
        lying.proof = lambda path: None
        client._run(log.check_plan(manifest.campaign, 1, digest))
    # The entry is signed, and the witness did not cosign it yet.
    witness = str(NoteSigner.of_witness("w.example/log", bytes(32)).key)
    lying.proof = lambda path: forged.proof(0, 1)
    pinned = {"witnesses": [witness], "quorum": 1}
    with client_of(logging_server, ledger.with_name("other"), lying, **pinned) as client:
        client._run(client._device._log.check_plan(manifest.campaign, 1, digest))


def test_what_is_found_in_a_list_needs_a_proof_too(logging_server: RunningServer, ledger: Path) -> None:
    campaign = logging_server.campaign("open")["id"]
    with client_of(logging_server, ledger) as client:
        found = client.find("travellers", lambda manifest: True)
        logging_server.clock.advance(int(found.next_in_s) + 1)
        found = client.find("travellers", lambda manifest: True)
        assert [str(each) for each in found.refused] == [campaign]
        sign(logging_server)
        logging_server.clock.advance(int(found.next_in_s) + 1)
        assert [str(each) for each in client.find("travellers", lambda manifest: True).joined] == [campaign]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"log": "telemetry.example/log"}, "a verifier key is written as"),
        ({"log": 7}, "log keys are a list of keys"),
        ({"log": [7]}, "a verifier key is text"),
        ({"witnesses": 7}, "witnesses are a list of keys"),
        ({"quorum": 2}, "the quorum is 0 to 0"),
        ({"log": None, "quorum": 1}, "belong to a log"),
        ({"log_policy": "hope"}, "log_policy is 'require' or 'prefer'"),
    ],
)
def test_pins_that_cannot_be_meant_are_refused(
    logging_server: RunningServer, ledger: Path, wrong: Any, message: str
) -> None:
    with pytest.raises(WrongArgument, match=message):
        client_of(logging_server, ledger, **wrong)


def test_a_backend_joins_for_all_its_users_by_one_proof(logging_server: RunningServer, tmp_path: Path) -> None:
    """Over real HTTP, with a store that is opened again."""
    campaign = logging_server.campaign("open")["id"]
    given: dict[str, Any] = {"server": logging_server.address, "caps": CAPS, "key": bytes(32), "allow_http": True}
    given |= {"clock": logging_server.clock, "log": log_key(logging_server)}
    with LedgerStore(tmp_path / "store", **given) as store:
        with pytest.raises(PlanUnavailable, match="log proof"):
            store.join(campaign)
        sign(logging_server)
        store.join(campaign)
    with LedgerStore(tmp_path / "store", **given) as store:
        for name in ("ada", "bob"):
            assert store.owner(name).answer(campaign, 7).status == "recorded"
            assert "log: entry 1 of 1, root" in str(store.owner(name).account())
        assert store.flush().delivered == 2
    changed = given | {"log": str(NoteSigner.of_log(ORIGIN, bytes([4]) * 32).key)}
    other = logging_server.campaign("open", name="other")["id"]
    sign(logging_server)
    with LedgerStore(tmp_path / "store", **changed) as store, pytest.raises(PlanRefused, match="no valid signature"):
        store.join(other)
