"""One campaign of several rounds: answered once a round, across restarts, within every cap, under one plan a round."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino_client import AnswerStatus, BudgetExceeded, Caps, PlanRefused, PureEpsilon
from sordino_client._storage import SCHEMA_VERSION
from sordino_shared.domains import Categorical, Domain
from sordino_shared.errors import DigestMismatch, GuaranteeNotMet
from sordino_shared.protocol import (
    CampaignState,
    Digest,
    DrawOneRound,
    EveryRound,
    PlanReference,
    ReportBatch,
    RoundTerms,
)
from sordino_shared.randomizers import RandomizedResponse
from tests.client.older_ledgers import take_format_8

HALF = PureEpsilon.of("0.5")


@pytest.fixture
def two_rounds(make_world: Callable[..., Any], make_part: Callable[..., Any]) -> Any:
    """A campaign of two rounds of ε = .5 each, whose first one is open."""
    first = make_part(0.5)
    terms = RoundTerms(HALF, PlanReference(first.digest, Digest.of(b"analyst"))), RoundTerms(HALF, None)
    return make_world(first, rounds=terms, device_guarantee=PureEpsilon.of(1), assignment=EveryRound())


def open_second(world: Any, part: Any) -> None:
    """The server seals the plan of round 1 and opens it."""
    world.parts[part.digest] = part.content
    world.task = dataclasses.replace(world.task, round=1, device_parts=(world.part.digest, part.digest), epoch=8)


def close(world: Any) -> None:
    world.task = dataclasses.replace(world.task, round=None, state=CampaignState.CLOSED)


def test_every_round_is_answered_once_across_restarts(two_rounds, make_client, make_part) -> None:
    second = make_part(0.4)
    statuses = []
    make_client(two_rounds).join(two_rounds.campaign)
    for step in (None, None, lambda: open_second(two_rounds, second), None, lambda: close(two_rounds)):
        if step is not None:
            step()
        client = make_client(two_rounds)
        answer = client.answer(two_rounds.campaign, "red")
        statuses.append((answer.status, answer.round if answer.guarantee else None))
        client.flush()
        client.close()
    assert statuses == [
        (AnswerStatus.RECORDED, 0),
        (AnswerStatus.ALREADY_ANSWERED, None),
        (AnswerStatus.RECORDED, 1),
        (AnswerStatus.ALREADY_ANSWERED, None),
        (AnswerStatus.ALREADY_ANSWERED, None),
    ]
    sent = [ReportBatch.read(body) for body in two_rounds.bodies]
    assert [batch.device_digest for batch in sent] == [two_rounds.part.digest, second.digest]
    assert [batch.ids[:2] for batch in sent] == [b"\x00\x07", b"\x00\x08"]


def test_each_round_is_debited_with_what_its_plan_proves(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    first = client.answer(campaign, "red").guarantee
    open_second(two_rounds, make_part(0.25))
    second = client.answer(campaign, "red").guarantee
    entries = client.account().campaigns[0].entries
    assert [(entry.round, entry.epsilon_nano) for entry in entries] == [(0, first.nano), (1, second.nano)]
    assert 0.24e9 < second.nano <= 0.25e9 < first.nano <= 0.5e9
    assert client.account().lifetime_nano == first.nano + second.nano


def test_a_device_may_skip_a_round(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    open_second(two_rounds, make_part(0.5))
    assert client.answer(campaign, "red").round == 1
    close(two_rounds)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    assert len(client.account().campaigns[0].entries) == 1


def test_a_device_answers_the_round_it_drew_and_no_other(
    two_rounds, make_world, make_client, make_part, tmp_path
) -> None:
    world = make_world(
        two_rounds.part,
        rounds=two_rounds.manifest.rounds,
        device_guarantee=HALF,
        assignment=DrawOneRound((2**31, 2**31)),
    )
    first = [make_client(world, ledger=tmp_path / f"{number}.sqlite3") for number in range(8)]
    early = [client.answer(client.join(world.campaign), "red").status for client in first]
    for client in first:
        client.close()
    open_second(world, make_part(0.5))
    late = [
        make_client(world, ledger=tmp_path / f"{number}.sqlite3").answer(world.campaign, "red").status
        for number in range(8)
    ]
    assert set(early) == {AnswerStatus.RECORDED, AnswerStatus.NOT_ASSIGNED}
    expected = {
        AnswerStatus.RECORDED: AnswerStatus.ALREADY_ANSWERED,
        AnswerStatus.NOT_ASSIGNED: AnswerStatus.RECORDED,
    }
    assert late == [expected[status] for status in early]


def test_the_devices_own_caps_end_a_campaign_early(two_rounds, make_client, make_part, clock) -> None:
    caps = Caps(PureEpsilon.of("0.7"), 30, PureEpsilon.of("0.7"))
    client = make_client(two_rounds, caps=caps)
    campaign = client.join(two_rounds.campaign)
    client.answer(campaign, "red")
    open_second(two_rounds, make_part(0.5))
    with pytest.raises(BudgetExceeded, match=r"0\.7 allowed in 30 days"):
        client.answer(campaign, "red")
    clock.sleep(40 * 86400)
    with pytest.raises(BudgetExceeded, match="for life"):
        client.answer(campaign, "red")
    assert len(client.account().campaigns[0].entries) == 1


def test_a_later_plan_above_the_manifests_epsilon_is_refused(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    open_second(two_rounds, make_part(0.500000001))
    with pytest.raises(PlanRefused, match=r"claims ε = 0\.500000001, the manifest allows ε = 0\.5;"):
        client.answer(campaign, "red")
    assert client.account().lifetime_nano == 0


def test_a_later_plan_that_proves_more_than_it_claims_is_refused(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    honest = make_part(0.5)
    generous = RandomizedResponse.for_guarantee(honest.domain.size, PureEpsilon.of("0.51"))
    open_second(two_rounds, dataclasses.replace(honest, randomizer=generous))
    with pytest.raises(PlanRefused) as caught:
        client.answer(campaign, "red")
    assert isinstance(caught.value.__cause__, GuaranteeNotMet)


def test_a_later_plan_that_is_not_the_one_the_task_names_is_refused(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    named = make_part(0.4)
    open_second(two_rounds, named)
    two_rounds.parts[named.digest] = make_part(0.3).content
    with pytest.raises(PlanRefused) as caught:
        client.answer(campaign, "red")
    assert isinstance(caught.value.__cause__, DigestMismatch)
    assert client.account().lifetime_nano == 0


@pytest.mark.parametrize("restart", [False, True])
def test_two_plans_for_one_round_are_refused(two_rounds, make_client, make_part, restart: bool) -> None:
    """A server that seals a round's plan twice could tell devices apart by the plan they answered."""
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    first, second = make_part(0.5), make_part(0.4)
    open_second(two_rounds, first)
    two_rounds.task = dataclasses.replace(two_rounds.task, round=None)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    if restart:
        client.close()
        client = make_client(two_rounds)
    open_second(two_rounds, second)
    with pytest.raises(PlanRefused, match=f"names plan {second.digest} for round 1, where an earlier one named"):
        client.answer(campaign, "red")
    assert client.account().lifetime_nano == 0
    open_second(two_rounds, first)
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


def test_a_refused_task_pins_nothing(two_rounds, make_client, make_part) -> None:
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    client.answer(campaign, "red")
    honest, other = make_part(0.5), make_part(0.4)
    two_rounds.task = dataclasses.replace(two_rounds.task, device_parts=(other.digest, other.digest))
    with pytest.raises(PlanRefused):
        client.answer(campaign, "red")
    open_second(two_rounds, honest)
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


def test_a_task_that_forgets_a_later_round_changes_nothing(two_rounds, make_client, make_part) -> None:
    """An old task from a cache names fewer rounds, not other ones."""
    client = make_client(two_rounds)
    campaign = client.join(two_rounds.campaign)
    old = two_rounds.task
    open_second(two_rounds, make_part(0.5))
    client.answer(campaign, "red")
    two_rounds.task = old
    assert client.answer(campaign, "red").round == 0


def test_a_ledger_of_format_1_is_kept_and_goes_on(two_rounds, make_client, ledger: Path) -> None:
    client = make_client(two_rounds)
    client.answer(client.join(two_rounds.campaign), "red")
    client.close()
    with sqlite3.connect(ledger) as connection:
        take_format_8(connection)
        connection.execute("DROP TABLE pinned_plans")
        connection.execute("DROP TABLE tasks")
        connection.execute("DROP TABLE series")
        connection.execute("DROP TABLE lists")
        connection.execute("DROP TABLE found")
        connection.execute("DROP TRIGGER sources_are_final")
        connection.execute("ALTER TABLE campaigns DROP COLUMN source")
        connection.execute("ALTER TABLE debits DROP COLUMN period_start")
        connection.execute("ALTER TABLE reports DROP COLUMN tried_at")
        connection.execute("ALTER TABLE reports DROP COLUMN trouble")
        connection.execute("ALTER TABLE campaigns DROP COLUMN origin")
        connection.execute("PRAGMA user_version = 1")
    again = make_client(two_rounds)
    again.join(two_rounds.campaign)
    assert again.answer(two_rounds.campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    again.close()
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("SELECT count(*) FROM pinned_plans").fetchone() == (1,)


def test_nothing_of_the_value_stays_between_rounds(two_rounds, make_client, ledger: Path) -> None:
    client = make_client(two_rounds)
    client.answer(client.join(two_rounds.campaign), "red")
    client.flush()
    client.close()
    with sqlite3.connect(ledger) as connection:
        dump = "\n".join(connection.iterdump())
    bodies = {body.hex().upper() for body in two_rounds.bodies}
    assert "'red'" not in dump
    rows = [line for line in dump.splitlines() if line.startswith('INSERT INTO "reports"')]
    assert len(rows) == 1
    assert any(body in rows[0].upper() for body in bodies)


COLOUR, SIZE = Categorical("colour", ("red", "green", "blue")), Categorical("size", ("small", "large"))
CERTAIN = PureEpsilon.of(16)
CAPS = Caps(per_period=PureEpsilon.of(32), period_days=30, lifetime=PureEpsilon.of(32))


@pytest.fixture
def two_attributes(make_world, make_part) -> Any:
    """Round 0 asks about colour and size; at ε = 16 a report is the value but for one in a million."""
    first = make_part(16, Domain((COLOUR, SIZE)))
    terms = RoundTerms(CERTAIN, PlanReference(first.digest, Digest.of(b"analyst"))), RoundTerms(CERTAIN, None)
    return make_world(first, rounds=terms, device_guarantee=PureEpsilon.of(32), assignment=EveryRound())


@pytest.mark.parametrize("whole", [{"colour": "blue", "size": "large"}, ("blue", "large")])
def test_a_later_round_may_ask_about_some_attributes(two_attributes, make_client, make_part, whole: Any) -> None:
    second = make_part(16, Domain((SIZE,)))
    client = make_client(two_attributes, ledger=":memory:", caps=CAPS)
    campaign = client.join(two_attributes.campaign)
    assert client.answer(campaign, whole).status is AnswerStatus.RECORDED
    open_second(two_attributes, second)
    assert client.answer(campaign, whole).status is AnswerStatus.RECORDED
    client.flush()
    sent = [ReportBatch.read(body) for body in two_attributes.bodies]
    assert [batch.payloads for batch in sent] == [bytes([2 * 2 + 1]), bytes([1])]


@pytest.mark.parametrize(
    "asked", [(SIZE, COLOUR), (Categorical("size", ("large", "small")),), (COLOUR, Categorical("age", ("1", "2")))]
)
def test_a_later_round_may_ask_nothing_else(two_attributes, make_client, make_part, asked: Any) -> None:
    client = make_client(two_attributes, ledger=":memory:", caps=CAPS)
    campaign = client.join(two_attributes.campaign)
    open_second(two_attributes, make_part(16, Domain(asked)))
    with pytest.raises(PlanRefused, match="domain"):
        client.answer(campaign, ("blue", "large"))
    assert client.account().lifetime_nano == 0


def test_a_part_that_an_earlier_round_kept_is_in_the_log_for_this_one_too(
    two_rounds, make_client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(two_rounds)
    asked = []
    monkeypatch.setattr(
        client._device._log, "check_plan", lambda campaign, index, digest: iter(asked.append(index) or ())
    )
    client.join(two_rounds.campaign)
    client.answer(two_rounds.campaign, "red")
    open_second(two_rounds, two_rounds.part)
    client.answer(two_rounds.campaign, "red")
    assert asked == [1]
