"""A store keeps for each owner what a device's ledger keeps: once a round, within the caps, exactly one report."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sordino_client import (
    AnswerStatus,
    BudgetExceeded,
    Caps,
    LedgerUnavailable,
    NotJoined,
    PlanRefused,
    PlanUnavailable,
    ServedElsewhere,
    WrongArgument,
)
from sordino_client.backend import LedgerStore, _databases
from sordino_client.testing import Daily, FakeServer, ShakeRandomness
from sordino_shared.protocol import ReportBatch
from tests.client.backend import machine
from tests.client.backend.machine import KEY, OS

ADDRESS = "https://fake.sordino.example"
CAPS = Caps.of(1, days=28, lifetime=12)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite3")
    url: str = request.getfixturevalue("postgres_url")
    return url.replace("postgresql+psycopg://", "postgresql://")


@pytest.fixture
def make(target: str) -> Iterator[Callable[..., LedgerStore]]:
    made: list[LedgerStore] = []

    def store(to: FakeServer, /, **changes: Any) -> LedgerStore:
        given: dict[str, Any] = {"server": ADDRESS, "caps": CAPS, "key": KEY, "strict": True}
        made.append(LedgerStore(target, **(given | {"transport": to, "clock": to} | changes)))
        return made[-1]

    yield store
    for each in made:
        each.close()


def test_each_owner_answers_once_and_all_are_sent_in_one_batch(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    campaign = store.join(server.campaign)
    for number in range(50):
        assert store.owner(f"user {number}").answer(campaign, "linux").status is AnswerStatus.RECORDED
    assert store.owner("user 7").answer(campaign, "linux").status is AnswerStatus.ALREADY_ANSWERED
    flushed = store.flush()
    assert (flushed.delivered, flushed.waiting, flushed.refused) == (50, 0, ())
    assert [made.method for made in server.requests].count("POST") == 1
    assert store.flush().delivered == 0
    assert len(server.received) == 50


def test_a_batch_is_in_the_order_of_its_random_ids(make, monkeypatch) -> None:
    server, sent = FakeServer(OS), []
    take = server._uploads.take
    monkeypatch.setattr(server._uploads, "take", lambda *given: sent.append(given[4]) or take(*given))
    store = make(server)
    campaign = store.join(server.campaign)
    for number in range(30):
        store.owner(str(number)).answer(campaign, "linux")
    store.flush()
    ids = ReportBatch.read(sent[0]).report_ids()
    assert ids == sorted(ids)


def test_a_new_store_of_the_same_database_knows_every_owner(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    store.owner("maria").answer(store.join(server.campaign), "linux")
    again = make(server)
    server.offline()
    assert again.owner("maria").answer(server.campaign, "linux").status is AnswerStatus.ALREADY_ANSWERED
    account = again.owner("maria").account()
    assert (account.lifetime_nano, account.campaigns[0].entries[0].state) == (10**9, "spooled")
    assert again.owner("jose").account().campaigns == ()


def test_the_caps_are_each_owners(make) -> None:
    first, second = FakeServer(OS), FakeServer(OS, name="another")
    store = make(first)
    store.owner("maria").answer(store.join(first.campaign), "linux")
    other = make(second)
    other.join(second.campaign)
    with pytest.raises(BudgetExceeded):
        other.owner("maria").answer(second.campaign, "linux")
    assert other.owner("jose").answer(second.campaign, "linux").guarantee is not None
    # A clock that is set back frees nothing.
    second.travel(days=-100)
    with pytest.raises(BudgetExceeded):
        other.owner("maria").answer(second.campaign, "linux")
    second.travel(days=129)
    assert other.owner("maria").answer(second.campaign, "linux").guarantee is not None


def test_leaving_deletes_what_waits_and_keeps_the_debits(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    campaign = store.join(server.campaign)
    for name in ("maria", "jose", "ana"):
        store.owner(name).answer(campaign, "linux")
    store.owner("maria").opt_out_all()
    store.owner("jose").opt_out(campaign)
    assert store.owner("maria").opted_out
    assert not store.owner("jose").opted_out
    assert store.owner("maria").answer(campaign, "linux").status is AnswerStatus.OPTED_OUT
    assert store.owner("jose").answer(campaign, "linux").status is AnswerStatus.OPTED_OUT
    assert store.flush().delivered == 1
    account = store.owner("maria").account()
    assert str(account).startswith("You left all campaigns on 2027-01-15.")
    assert account.campaigns[0].entries[0].state == "deleted"
    store.owner("maria").opt_in()
    assert store.owner("maria").answer(campaign, "linux").status is AnswerStatus.ALREADY_ANSWERED
    store.owner("new").opt_out(campaign)
    assert store.owner("new").answer(campaign, "linux").status is AnswerStatus.OPTED_OUT


def test_a_lost_answer_is_no_second_report_and_trouble_waits(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    campaign = store.join(server.campaign)
    for number in range(5):
        store.owner(str(number)).answer(campaign, "linux")
    server.lose_answers(1)
    waiting = store.flush()
    assert (waiting.delivered, waiting.waiting) == (0, 5)
    assert waiting.retry_in_s is not None
    before = len(server.requests)
    assert store.flush().waiting == 5
    assert len(server.requests) == before
    server.travel(seconds=waiting.retry_in_s + 1)
    server.fail(503, retry_after=60)
    assert store.flush().trouble == "HTTP 503 (overloaded)"
    server.travel(days=2)
    assert store.flush().delivered == 5
    assert len(server.received) == 5


def test_a_series_is_answered_once_in_its_slots(make) -> None:
    server = FakeServer(OS, series=Daily(slots=5, answers_max=3, late_s=86_400))
    store = make(server, caps=Caps.of(1, days=4, lifetime=12))
    series = store.join(server.campaign)
    answered: dict[str, list[int]] = {str(number): [] for number in range(12)}
    for _ in range(25):
        for name, periods in answered.items():
            owner = store.owner(name)
            due = owner.due(series)
            answer = owner.answer(series, "linux")
            assert (due is not None) == (answer.status is AnswerStatus.RECORDED), answer
            if answer.round is not None:
                periods.append(answer.round)
        store.flush()
        server.travel(days=1)
    assert all(len(periods) == 3 for periods in answered.values())
    assert all({b - a for a, b in pairwise(p)} == {5} for p in answered.values())
    # Phases follow from the key: twelve owners have more than one.
    assert len({periods[0] % 5 for periods in answered.values()}) > 1
    assert len(server.received) == 36
    assert store.owner("3").account().campaigns[0].state == "ended"


def test_phases_are_uniform_and_arms_have_their_weights(make) -> None:
    """χ² of 3,000 owners with 4 degrees of freedom, and of 2 for arms; above 23.5 and 18.4 with probability 1e-4."""
    from sordino_client.backend._owners import OwnerRandomness, arm_of, hash_of

    server = FakeServer(OS, arms=("A", "B", "C"))
    phases, arms = Counter(), Counter()
    for number in range(3_000):
        name_hash = hash_of(KEY, str(number))
        phases[OwnerRandomness(KEY, name_hash, server.campaign).below(5)] += 1
        arms[arm_of(server.manifest, OwnerRandomness(KEY, name_hash, server.campaign))] += 1
    assert sum((found - 600) ** 2 / 600 for found in phases.values()) < 23.5
    assert sum((found - 1000) ** 2 / 1000 for found in arms.values()) < 18.4
    store = make(server)
    campaign = store.join(server.campaign)
    for number in range(20):
        store.owner(str(number)).answer(campaign, "linux")
    store.flush()
    shown = Counter(store.owner(str(number)).arm(campaign) for number in range(20))
    assert Counter("ABC"[report.arm] for report in server.received) == shown


def test_a_period_that_is_over_expires_what_waits(make) -> None:
    server = FakeServer(OS, series=Daily(slots=1))
    store = make(server)
    store.owner("maria").answer(store.join(server.campaign), "linux")
    server.offline()
    store.flush()
    server.travel(days=3)
    server.online()
    assert store.flush().waiting == 0
    assert store.owner("maria").account().campaigns[0].entries[0].state == "expired"
    assert server.received == []


def test_the_task_is_asked_for_once_a_minute_for_all_owners(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    campaign = store.join(server.campaign)
    for number in range(20):
        store.owner(str(number)).answer(campaign, "linux")
    assert len(server.requests) == 3
    server.travel(seconds=61)
    server.offline()
    assert store.owner("offline").answer(campaign, "linux").status is AnswerStatus.RECORDED
    server.travel(days=8)
    with pytest.raises(PlanUnavailable):
        store.owner("late").answer(campaign, "linux")
    server.online()
    server.end()
    assert store.owner("late").answer(campaign, "linux").status is AnswerStatus.NOT_OPEN


def test_a_lie_is_refused_and_a_series_with_another_time_is_not_answered(make) -> None:
    server = FakeServer(OS, series=Daily(slots=1))
    for lie in ("epsilon", "manifest", "plan"):
        server.lies(lie)
        with pytest.raises(PlanRefused):
            make(server).join(server.campaign)
    server.lies()
    store = make(server)
    series = store.join(server.campaign)
    server.travel(hours=1)
    server.lies("clock")
    assert store.owner("maria").answer(series, "linux").status is AnswerStatus.CLOCK_DIFFERS


def test_no_server_sees_the_reports_of_another_ones_campaign(make) -> None:
    first, second = FakeServer(OS), FakeServer(OS, name="another")
    one, two = make(first), make(second, server="https://other.example", caps=Caps.of(2, days=28, lifetime=12))
    one.owner("maria").answer(one.join(first.campaign), "linux")
    two.owner("maria").answer(two.join(second.campaign), "linux")
    with pytest.raises(ServedElsewhere):
        two.owner("maria").answer(first.campaign, "linux")
    assert two.flush().delivered == 1
    assert not any(str(first.campaign) in request.path for request in second.requests)
    assert two.flush().waiting == 0
    assert one.flush().delivered == 1
    assert len(two.owner("maria").account().campaigns) == 2


def test_a_store_of_another_key_is_refused(make) -> None:
    server = FakeServer(OS)
    make(server)
    with pytest.raises(WrongArgument, match="made with another key: give that one"):
        make(server, key=bytes(32))


@pytest.mark.parametrize("name", ["", "x" * 201, "ü" * 101, 17, None, b"maria"])
def test_an_owners_name_is_short_text(make, name) -> None:
    with pytest.raises(WrongArgument, match="text of 1 to 200 bytes"):
        make(FakeServer(OS)).owner(name)


def test_no_name_is_in_the_database(make, target, tmp_path) -> None:
    server = FakeServer(OS)
    store = make(server)
    store.owner("maria@example.org").answer(store.join(server.campaign), "linux")
    if "://" not in target:
        store.close()
        assert all(b"maria" not in path.read_bytes() for path in tmp_path.iterdir())


def test_what_was_spent_cannot_be_changed_or_deleted(make) -> None:
    server = FakeServer(OS)
    store = make(server)
    store.owner("maria").answer(store.join(server.campaign), "linux")
    for statement in (
        "DELETE FROM answers",
        "UPDATE answers SET nano = 0",
        "UPDATE answers SET at = 0",
        "DELETE FROM owners",
        "UPDATE owners SET high_water = 0",
    ):
        with pytest.raises(LedgerUnavailable), store.database.transaction() as database:
            database.run(statement)
    assert store.owner("maria").account().lifetime_nano == 10**9


@pytest.mark.parametrize("wrong", [":memory:", "", "mysql://x/y", 5, "sqlite:///x"])
def test_a_store_is_a_file_or_a_database_of_postgresql(wrong) -> None:
    with pytest.raises(WrongArgument, match=r"a file, or a database|a path, or a DSN"):
        _databases.opened(wrong)


def test_what_a_store_does_not_answer_is_refused(make, make_world, make_client) -> None:
    """Several rounds and shufflers belong to clients of their own."""
    from sordino_client.backend._campaigns import _check_answered_by_stores
    from tests.client.test_unbuilt import MANIFESTS

    refused = set()
    for name, manifest in MANIFESTS.items():
        try:
            _check_answered_by_stores(manifest)
        except PlanRefused:
            refused.add(name)
    assert {name for name in refused if "shuffled" in name} == {name for name in MANIFESTS if "shuffled" in name}
    assert any(len(MANIFESTS[name].rounds) > 1 for name in refused)
    with pytest.raises(NotJoined):
        make(FakeServer(OS)).owner("maria").answer("ab" * 32, "linux")


def test_a_file_that_is_none_says_so(tmp_path) -> None:
    path = tmp_path / "store"
    path.write_bytes(b"no database" * 1000)
    server = FakeServer(OS)
    with pytest.raises(LedgerUnavailable, match="the database failed"):
        LedgerStore(path, server="https://a.example", caps=CAPS, key=KEY, transport=server)


def test_a_database_of_something_else_is_refused_and_left_as_it_was(tmp_path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=tmp_path / "ledger") as client:
        client.answer(client.join(server.campaign), "linux")
    before = (tmp_path / "ledger").read_bytes()
    with pytest.raises(LedgerUnavailable, match="a database of something else; choose another path"):
        LedgerStore(tmp_path / "ledger", server=ADDRESS, caps=CAPS, key=KEY, transport=server, clock=server)
    assert (tmp_path / "ledger").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]
    # The other way round.
    LedgerStore(tmp_path / "store", server=ADDRESS, caps=CAPS, key=KEY, transport=server, clock=server).close()
    with pytest.raises(LedgerUnavailable, match="a database of something else"):
        server.client(ledger=tmp_path / "store")


def test_a_store_of_a_later_format_says_which_version_to_use(make) -> None:
    store = make(FakeServer(OS))
    with store.database.transaction() as database:
        database.run("UPDATE store SET value = ? WHERE name = 'format'", b"2")
    with pytest.raises(LedgerUnavailable, match="format b'2'; use the SDK's version that wrote it"):
        make(FakeServer(OS))


def test_a_wrong_token_holds_back_its_campaign_alone_and_is_given_up(make) -> None:
    """Two campaigns of one server, of which the first takes no token: nothing is tried at each flush, nor for ever."""
    first, second = FakeServer(OS), FakeServer(OS, name="another")

    class Both:
        def send(self, request: Any) -> Any:
            if str(second.campaign) in request.path or str(second._served.part.digest) in request.path:
                return second.send(request)
            if request.method == "POST":
                first.fail(401)
            return first.send(request)

        def close(self) -> None:
            """Nothing is open."""

    store = make(Both(), clock=first, caps=Caps.of(2, days=28, lifetime=12), randomness=ShakeRandomness(1))
    campaigns = [store.join(server.campaign) for server in (first, second)]

    def tries() -> int:
        return [made.method for made in first.requests].count("POST")

    for name in ("maria", "jose"):
        for campaign in campaigns:
            store.owner(name).answer(campaign, "linux")
    flushed = store.flush()
    assert (flushed.delivered, flushed.waiting, flushed.trouble) == (2, 2, "HTTP 401 (unauthorized)")
    assert flushed.retry_in_s is not None
    # What is counted of the other campaign does not make the store try this one at each flush.
    for minute in range(60):
        store.owner(str(minute)).answer(campaigns[1], "linux")
        assert store.flush().delivered == 1
        first.travel(seconds=60)
    assert tries() <= 4
    refused = []
    for day in range(35):
        first.travel(days=1)
        if day == 15:
            store.owner("late").answer(campaigns[0], "linux")
        refused += store.flush().refused
        assert refused == [] or day >= 29
    assert [each.reason for each in refused] == ["HTTP 401 (unauthorized)"] * 2
    assert store.flush().waiting == 1
    assert {store.owner(name).account().campaigns[0].entries[0].state for name in ("maria", "jose")} == {"refused"}
    assert store.owner("late").account().campaigns[0].entries[0].state == "spooled"


def test_an_account_is_read_in_one_transaction(make, monkeypatch) -> None:
    """Between two of them another process may join a campaign and answer it, which this one would not know."""
    server = FakeServer(OS)
    make(server).owner("maria").answer(make(server).join(server.campaign), "linux")
    store, begun = make(server), []
    transaction = store.database.transaction
    monkeypatch.setattr(store.database, "transaction", lambda: begun.append(1) or transaction())
    assert len(store.owner("maria").account().campaigns) == 1
    assert len(begun) == 1


def test_an_account_knows_all_that_is_answered_while_it_is_read(make, monkeypatch) -> None:
    """PostgreSQL shows each statement what was committed before it, so the owner's row holds off other processes."""
    server, later = FakeServer(OS), FakeServer(OS, name="later")
    store, other = (
        make(server, caps=Caps.of(2, days=28, lifetime=12)),
        make(later, caps=Caps.of(2, days=28, lifetime=12)),
    )
    store.owner("maria").answer(store.join(server.campaign), "linux")
    by_number = store.campaigns.by_number
    meanwhile = threading.Thread(target=lambda: other.owner("maria").answer(other.join(later.campaign), "linux"))

    def slowly(database: Any) -> Any:
        known = by_number(database)
        meanwhile.start()
        # Held off, it goes on when the account is read.
        meanwhile.join(0.3)
        return known

    monkeypatch.setattr(store.campaigns, "by_number", slowly)
    assert [each.name for each in store.owner("maria").account().campaigns] == ["test"]
    meanwhile.join()
    monkeypatch.undo()
    assert len(store.owner("maria").account().campaigns) == 2


def test_what_is_written_while_an_owner_is_waited_for_is_seen_whatever_the_databases_default(postgres_url) -> None:
    """With repeatable reads an answer would not see that its owner left meanwhile."""
    dsn = postgres_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(dsn, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'repeatable read'")
    server = FakeServer(OS)
    with LedgerStore(dsn, server=ADDRESS, caps=CAPS, key=KEY, transport=server, clock=server) as store:
        store.join(server.campaign)
        with store.database.transaction() as database:
            assert database.rows("SHOW transaction_isolation") == [("read committed",)]


def _answer_all(target: str, campaign: str, begun: Any) -> None:
    server = FakeServer(OS)
    store = LedgerStore(
        target, server="https://fake.sordino.example", caps=CAPS, key=KEY, transport=server, clock=server
    )
    begun.wait()
    for number in range(30):
        store.owner(str(number)).answer(campaign, "linux")
    store.close()


def test_two_processes_spend_once_for_each_owner(make, target) -> None:
    server = FakeServer(OS)
    store = make(server)
    store.join(server.campaign)
    context = multiprocessing.get_context("fork")
    begun = context.Barrier(2)
    others = [context.Process(target=_answer_all, args=(target, str(server.campaign), begun)) for _ in range(2)]
    store.close()
    for each in others:
        each.start()
    for each in others:
        each.join()
        assert each.exitcode == 0
    assert store.flush().delivered == 30
    assert store.flush().waiting == 0


def test_owners_answer_once_and_pass_no_cap(target: str) -> None:
    """Scripts, whose kills of mutants `test_mutants.py` counts, and random steps."""
    machine.run_scripts(target)
    machine.run(target, machine.EXAMPLES if "://" not in target else 8)


@pytest.mark.slow
def test_owners_answer_once_and_pass_no_cap_in_many_examples(target: str) -> None:
    machine.run(target, 200)


def test_an_answer_takes_less_than_a_kilobyte(tmp_path) -> None:
    """1,000 owners with one answer each; the goal is 1 kB."""
    server, path = FakeServer(OS), tmp_path / "store.sqlite3"
    with LedgerStore(path, server="https://a.example", caps=CAPS, key=KEY, transport=server, clock=server) as store:
        campaign = store.join(server.campaign)
        for number in range(1_000):
            store.owner(str(number)).answer(campaign, "linux")
    with sqlite3.connect(path) as rows:
        [(pages,)] = rows.execute("PRAGMA page_count").fetchall()
        [(size,)] = rows.execute("PRAGMA page_size").fetchall()
    assert pages * size / 1_000 < 1_000


def test_without_psycopg_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(WrongArgument, match="needs psycopg: pip install"):
        _databases.opened("postgresql://host/name")


def test_a_store_that_pins_a_log_checks_it_once_for_all_owners(make) -> None:
    server = FakeServer(OS)
    store = make(server, log=server.log, witnesses=[server.witness])
    campaign = store.join(server.campaign)
    for name in ("ada", "bob"):
        assert store.owner(name).answer(campaign, "linux").status is AnswerStatus.RECORDED
        assert "log: entry 1 of 1, seen by 1 witness" in str(store.owner(name).account())
    assert sum("log" in made.path for made in server.requests) == 2
    # Another process finds what this one kept, and refuses what does not continue it.
    again = make(server, log=server.log)
    assert "log: entry 1 of 1" in str(again.owner("ada").account())
    server.lies("epsilon")
    server._log._entries.insert(0, server._log._entries[0])
    server._log._days = [(server._log._days[0][0], 2)]
    with pytest.raises(PlanRefused, match="no longer has the checkpoint of 1 entries"):
        again.join(server.campaign)


@pytest.mark.parametrize("policy", ["require", "prefer"])
def test_a_store_without_a_proof_joins_later_or_asks_daily(make, policy: str) -> None:
    server = FakeServer(OS)
    server.hold_back_proof()
    store = make(server, log=server.log, log_policy=policy)
    if policy == "require":
        with pytest.raises(PlanUnavailable, match="log proof"):
            store.join(server.campaign)
        server.show_proof()
        store.join(server.campaign)
    else:
        store.join(server.campaign)
        store.owner("ada").answer(server.campaign, "linux")
        assert "not in the public log yet" in str(store.owner("ada").account())
        server.show_proof()
        server.travel(days=2)
        store.owner("bob").answer(server.campaign, "linux")
    assert "log: entry 1 of 1" in str(store.owner("ada").account()) or policy == "require"


def test_a_store_refuses_pins_that_cannot_be_meant(make) -> None:
    server = FakeServer(OS)
    for wrong, message in (
        ({"log": "telemetry.example"}, "a verifier key is written as"),
        ({"quorum": 1}, "belong to a log"),
        ({"log": server.log, "log_policy": "hope"}, "log_policy is"),
        ({"log": [server.log, server.log]}, "different keys"),
        ({"log": []}, "got none"),
    ):
        with pytest.raises(WrongArgument, match=message):
            make(server, **wrong)
