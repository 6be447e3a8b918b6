"""Join, answer, flush: what an app sees, and what never leaves or stays."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import suppress

import httpx
import pytest

from sordino_analysis.vectorized.payloads import payload_rows
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, NotJoined, PlanUnavailable, PureEpsilon, RefusedUpload
from sordino_shared.domains import Categorical, Domain, Ordinal
from sordino_shared.errors import InvalidValue, OutsideDomain
from sordino_shared.protocol import (
    CampaignState,
    Digest,
    DrawOneRound,
    PlanReference,
    Problem,
    ReportBatch,
    RoundTerms,
)


def test_a_device_joins_answers_and_sends_one_report(world, client) -> None:
    campaign = client.join(str(world.campaign))
    assert (campaign.purpose, campaign.guarantee) == (world.manifest.purpose, world.manifest.device_guarantee)
    answer = client.answer(campaign, "green")
    assert (answer.status, answer.round) == (AnswerStatus.RECORDED, 0)
    assert client.flush().delivered == 1
    batch = ReportBatch.read(world.bodies[0])
    assert (batch.count, batch.device_digest) == (1, world.part.digest)
    assert batch.report_ids()[0][:2] == (7).to_bytes(2, "big")
    assert in_alphabet(world.part.randomizer, payload_rows(batch)).all()


def test_what_is_debited_is_what_the_integers_prove(world, make_client, make_part) -> None:
    part = make_part(0.5)
    loose = dataclasses.replace(part, guarantee=PureEpsilon.of(1))
    other = type(world)(loose)
    client = make_client(other)
    answer = client.answer(client.join(other.campaign), "red")
    assert answer.guarantee is not None
    assert answer.guarantee.nano <= part.guarantee.nano
    assert client.account().lifetime_nano == answer.guarantee.nano


def test_a_second_answer_spends_and_randomises_nothing(world, client) -> None:
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    requests = len(world.requests)
    again = client.answer(campaign, "blue")
    assert (again.status, again.guarantee) == (AnswerStatus.ALREADY_ANSWERED, None)
    assert len(world.requests) == requests
    assert client.flush().delivered == 1
    assert client.flush().delivered == 0
    assert len(world.counted) == 1


def test_joining_again_needs_no_server_and_keeps_what_was_pinned(world, make_client) -> None:
    first = make_client().join(world.campaign)
    world.manifest_content = b"something else"
    requests = len(world.requests)
    assert make_client().join(world.campaign) == first
    assert len(world.requests) == requests


def test_an_unknown_campaign_is_not_answered(world, client) -> None:
    with pytest.raises(NotJoined) as caught:
        client.answer(world.campaign, "red")
    assert caught.value.campaign == world.campaign


def test_a_closed_campaign_takes_no_answer(world, client) -> None:
    campaign = client.join(world.campaign)
    world.task = dataclasses.replace(world.task, state=CampaignState.CLOSED, round=None)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    assert client.account().lifetime_nano == 0


@pytest.mark.parametrize("missing", ["task", "plans"])
@pytest.mark.parametrize("how", ["unreachable", "error"])
def test_without_the_plan_at_hand_nothing_is_randomised_or_kept(world, make_client, ledger, missing, how) -> None:
    class Exploding(SeededRandomness):
        def bytes(self, count: int) -> bytes:
            raise AssertionError("randomness was drawn")

    handle = world.handle

    def broken(request: httpx.Request) -> httpx.Response:
        if missing not in request.url.path:
            return handle(request)
        if how == "unreachable":
            raise httpx.ConnectError("no route")
        return world.problem(Problem.UNAVAILABLE, Retry_After="12")

    world.handle = broken
    client = make_client(randomness=Exploding(0))
    campaign = client.join(world.campaign)
    with pytest.raises(PlanUnavailable) as caught:
        client.answer(campaign, "a-very-recognisable-value")
    if how == "error":
        assert (caught.value.status, caught.value.slug, caught.value.retry_after) == (503, "unavailable", 12)
    assert client.account().lifetime_nano == 0
    assert client.flush().waiting == 0
    assert b"a-very-recognisable-value" not in ledger.read_bytes()


def test_the_raw_value_is_never_stored(world, make_client, ledger) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "a-very-recognisable-value")
    client.flush()
    client.close()
    assert b"a-very-recognisable-value" not in b"".join(f.read_bytes() for f in ledger.parent.iterdir())


def test_no_request_depends_on_the_value(make_world, make_client, tmp_path) -> None:
    """Methods, addresses, headers, sizes and the bytes of every request but the randomised report are the same."""
    seen = []
    for number, value in enumerate(["red", "blue", "nonsense", None, 3.5, {"colour": "red"}, object()]):
        world = make_world()
        client = make_client(world, ledger=tmp_path / f"{number}.sqlite3")
        client.answer(client.join(world.campaign), value)
        client.flush()
        seen.append([(r.method, str(r.url), sorted(r.headers.raw), len(r.content)) for r in world.requests])
    assert len(seen[0]) == 5
    assert all(requests == seen[0] for requests in seen)


def test_a_value_outside_an_exhaustive_domain_raises_in_the_apps_tests_and_answers_in_production(
    world, make_client, make_part, tmp_path
) -> None:
    domain = dataclasses.replace(
        world.manifest.domain, attributes=(dataclasses.replace(world.manifest.domain.attributes[0], other=False),)
    )
    exhaustive = type(world)(make_part(1.0, domain))
    strict = make_client(exhaustive, strict=True)
    campaign = strict.join(exhaustive.campaign)
    with pytest.raises(OutsideDomain):
        strict.answer(campaign, "ultraviolet")
    assert strict.account().lifetime_nano == 0
    assert make_client(exhaustive).answer(campaign, "ultraviolet").status is AnswerStatus.RECORDED


WRONG_SHAPES = ["recognisable", ("recognisable",), 3, {"OS": "recognisable", "crashes": 2}, {"recognisable": 1}]


@pytest.mark.parametrize("value", WRONG_SHAPES)
def test_a_wrong_shape_is_the_apps_mistake_and_spends_nothing(make_world, make_client, make_part, value) -> None:
    domain = Domain((Categorical("os", ("ios", "android"), other=True), Ordinal("crashes", (0.0, 1.0), missing=True)))
    world = make_world(make_part(1.0, domain))
    client = make_client(world)
    campaign = client.join(world.campaign)
    with pytest.raises(InvalidValue, match="'os', 'crashes'") as raised:
        client.answer(campaign, value)
    assert "recognisable" not in str(raised.value)
    assert (client.account().lifetime_nano, client.flush().waiting) == (0, 0)
    assert client.answer(campaign, {"os": "beos", "crashes": None}).status is AnswerStatus.RECORDED


def test_requests_are_the_same_for_a_wrong_shape_up_to_the_report(make_world, make_client, tmp_path) -> None:
    seen = []
    for number, value in enumerate(["red", {"hue": "red"}]):
        world = make_world()
        client = make_client(world, ledger=tmp_path / f"{number}.sqlite3")
        campaign = client.join(world.campaign)
        with suppress(InvalidValue):
            client.answer(campaign, value)
        seen.append([(r.method, str(r.url), sorted(r.headers.raw)) for r in world.requests])
    assert len(seen[0]) == 4
    assert seen[1] == seen[0]


def test_a_kept_part_is_not_fetched_again(world, make_client) -> None:
    campaign = make_client().join(world.campaign)
    twin = type(world)(world.part, created_at=1_700_000_001)
    make_client().answer(campaign, "red")
    client = make_client(twin)
    assert client.answer(client.join(twin.campaign), "red").status is AnswerStatus.RECORDED
    assert not [request for request in twin.requests if "/plans/" in request.url.path]


def test_a_damaged_kept_part_is_fetched_again(world, make_client, ledger) -> None:
    make_client().answer(make_client().join(world.campaign), "red")
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE parts SET content = x'00'")
    twin = type(world)(world.part, created_at=1_700_000_001)
    client = make_client(twin)
    assert client.answer(client.join(twin.campaign), "red").status is AnswerStatus.RECORDED
    assert [request for request in twin.requests if "/plans/" in request.url.path]


def two_rounds(world, **fields):
    first = world.manifest.rounds[0]
    second = RoundTerms(first.guarantee, PlanReference(world.part.digest, Digest.of(b"second")))
    return type(world)(
        world.part, rounds=(first, second), device_guarantee=PureEpsilon(2 * first.guarantee.nano), **fields
    )


def test_every_round_is_answered_once(world, make_client) -> None:
    world = two_rounds(world)
    client = make_client(world)
    campaign = client.join(world.campaign)
    statuses = []
    for index in (0, 0, 1, 1, 0):
        parts = (world.part.digest,) * (index + 1)
        world.task = dataclasses.replace(world.task, round=index, device_parts=parts)
        statuses.append(client.answer(campaign, "red").status.value)
    assert statuses == ["recorded", "already_answered", "recorded", "already_answered", "already_answered"]
    assert client.flush().delivered == 2


def test_a_device_that_draws_one_round_answers_that_one_only(world, make_client, tmp_path) -> None:
    world = two_rounds(world, assignment=DrawOneRound((2**31, 2**31)))
    drawn = []
    for number in range(12):
        path = tmp_path / f"{number}.sqlite3"
        client = make_client(world, ledger=path)
        campaign = client.join(world.campaign)
        statuses = []
        for index in (0, 1):
            world.task = dataclasses.replace(world.task, round=index, device_parts=(world.part.digest,) * 2)
            statuses.append(make_client(world, ledger=path).answer(campaign, "red").status)
        assert statuses.count(AnswerStatus.RECORDED) == 1
        drawn.append(statuses.index(AnswerStatus.RECORDED))
        expected = AnswerStatus.NOT_ASSIGNED if drawn[-1] == 1 else AnswerStatus.ALREADY_ANSWERED
        assert statuses[1 - drawn[-1]] is expected
    assert set(drawn) == {0, 1}


def test_opting_out_deletes_payloads_keeps_debits_and_is_final(world, make_client, ledger) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    with sqlite3.connect(ledger) as connection:
        (body,) = connection.execute("SELECT body FROM reports").fetchone()
    client.opt_out(campaign)
    assert client.flush() == client.flush()
    assert world.bodies == []
    account = client.account()
    assert account.campaigns[0].opted_out
    assert account.campaigns[0].entries[0].state == "deleted"
    assert account.lifetime_nano == account.period_nano == account.campaigns[0].epsilon_nano > 0
    assert make_client().join(world.campaign).opted_out
    assert make_client().answer(campaign, "red").status is AnswerStatus.OPTED_OUT
    client.close()
    assert body[-40:] not in ledger.read_bytes()


def test_opting_out_before_joining_holds(world, client) -> None:
    client.opt_out(str(world.campaign))
    assert client.join(world.campaign).opted_out
    assert client.answer(world.campaign, "red").status is AnswerStatus.OPTED_OUT


def test_leaving_while_the_plan_is_on_its_way_wins(world, make_client) -> None:
    handle, leaver = world.handle, make_client()

    def leave(request: httpx.Request) -> httpx.Response:
        if "/plans/" in request.url.path:
            leaver.opt_out(world.campaign)
        return handle(request)

    world.handle = leave
    client = make_client()
    assert client.answer(client.join(world.campaign), "red").status is AnswerStatus.OPTED_OUT
    assert client.account().lifetime_nano == 0


def test_an_absurd_retry_after_is_cut_to_a_day(world, make_client) -> None:
    world.handle = lambda request: world.problem(Problem.UNAVAILABLE, Retry_After="9" * 400)
    with pytest.raises(PlanUnavailable) as caught:
        make_client().join(world.campaign)
    assert caught.value.retry_after == 86_400


def test_a_refused_report_is_kept_with_its_reason_and_its_debit(world, client) -> None:
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    world.replies = [world.problem(Problem.ROUND_NOT_OPEN)]
    flushed = client.flush()
    assert flushed.refused == (RefusedUpload(world.campaign, 0, "round-not-open"),)
    entry = client.account().campaigns[0].entries[0]
    assert (entry.state, entry.reason) == ("refused", "round-not-open")
    assert client.answer(campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    assert client.flush().waiting == 0
    assert len(world.bodies) == 1


def test_a_closed_client_opens_its_ledger_again(world, make_client) -> None:
    with make_client() as client:
        campaign = client.join(world.campaign)
        client.answer(campaign, "red")
    assert len(make_client().account().campaigns) == 1


def test_an_app_checks_its_values_without_spending(world, client) -> None:
    campaign = client.join(world.campaign)
    requests = len(world.requests)
    assert campaign.check("red") == "red"
    for wrong in ("Red", 3, True, None, {"hue": "red"}):
        with pytest.raises(InvalidValue):
            campaign.check(wrong)
    assert (len(world.requests), client.account().lifetime_nano) == (requests, 0)


def test_what_was_coerced_is_logged_and_nothing_of_the_value(make_world, make_client, make_part, caplog) -> None:
    domain = Domain((Categorical("os", ("ios",), other=True), Ordinal("crashes", (0.0, 1.0), missing=True)))
    world = make_world(make_part(1.0, domain))
    client = make_client(world)
    campaign = client.join(world.campaign)
    client.answer(campaign, ("recognisable", "0.73519"))
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "sordino_client",
            "WARNING",
            f"In the value for campaign {world.campaign}, attribute 'os': str counts as other.",
        ),
        (
            "sordino_client",
            "WARNING",
            f"In the value for campaign {world.campaign}, attribute 'crashes': str is read as a number.",
        ),
    ]


def test_an_ordinary_value_logs_nothing(world, client, caplog) -> None:
    client.answer(client.join(world.campaign), "red")
    assert not [record for record in caplog.records if record.name == "sordino_client"]
