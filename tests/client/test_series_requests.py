"""What a server sees of a series: the same requests whatever the values, and none in another device's period."""

from __future__ import annotations

import dataclasses
from typing import Any

import httpx
import pytest

from sordino_client import AnswerStatus
from sordino_shared.protocol import CampaignState, ReportBatch, ValueOf
from tests.client.conftest import DAY_S, SERIES_START

DAY, START = DAY_S, SERIES_START


def shown(request: httpx.Request) -> tuple[Any, ...]:
    """A request as the wire shows it, random bytes of its report taken out."""
    body = request.content
    if body:
        batch = ReportBatch.read(body)
        masked = dataclasses.replace(batch, ids=batch.ids[:2] + bytes(14), payloads=bytes(len(batch.payloads)))
        body = masked.content
        assert len(body) == len(request.content)
    return request.method, str(request.url), sorted(request.headers.raw), body


def live(world, start, clock, values, ledger, days) -> list[list[tuple[Any, ...]]]:
    """Two starts of the app on each day, an answer tried and a flush at each: the requests of every day."""
    clock.time = START + 5.0
    client, campaign = start(world, 3, ledger=ledger)
    found = []
    for day in days:
        world.requests.clear()
        for hour in (2, 20):
            clock.time = START + day * DAY + 3600.0 * hour
            if client.due(campaign) is None or hour == 20:
                client.answer(campaign, values[day % len(values)])
            client.flush()
            client.account()
        found.append([shown(request) for request in world.requests])
    return found


@pytest.mark.parametrize("value_of", ValueOf)
def test_requests_do_not_depend_on_values(make_series, start, clock, tmp_path, value_of) -> None:
    world = make_series(value_of=value_of)
    days = range(24)
    one = live(world, start, clock, ["red"], tmp_path / "one", days)
    two = live(world, start, clock, ["green", "blue", "mauve", None, "red"], tmp_path / "two", days)
    assert one == two
    asked = {day: [(method, url.rpartition("/")[2]) for method, url, _, _ in made] for day, made in enumerate(one)}
    first = 3 if value_of is ValueOf.CURRENT else 4
    assert {day for day, made in asked.items() if made} == set(range(first, 24, 7))
    assert {tuple(made) for made in asked.values() if made} == {(("GET", "task"), ("POST", "reports"))}


def test_no_request_in_other_periods_whatever_the_app_calls(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world, 3)
    world.requests.clear()
    for day in (0, 1, 2, 4, 5, 6, 7, 8, 9):
        clock.time = START + day * DAY
        assert client.due(campaign) is None
        assert client.answer(campaign, "red").status is AnswerStatus.NOT_THIS_PERIOD
        client.join(campaign.id)
        client.flush()
        client.account()
        client.preview(campaign, "red")
    assert world.requests == []


def test_a_series_that_is_over_is_asked_about_no_more(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world, 0)
    world.task = dataclasses.replace(world.task, state=CampaignState.CLOSED, round=None)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    world.requests.clear()
    for day in range(0, 35, 7):
        clock.time = START + day * DAY
        assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
        assert client.due(campaign) is None
    assert world.requests == []


def test_an_upload_of_a_cycle_is_small(make_series, start, clock) -> None:
    """Body and headers of the SDK's own, of the only upload in T periods."""
    world = make_series()
    client, campaign = start(world, 0)
    client.answer(campaign, "red")
    client.flush()
    upload = world.requests[-1]
    headers = sum(len(name) + len(value) + 4 for name, value in upload.headers.raw)
    assert len(upload.content) + headers < 400
