"""What is left of the caps of a population, when there is more, and what would fit, as the ledger then decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sordino_server.populations.budget import _weeks
from sordino_server.populations.service import identifier_of
from sordino_shared.protocol.series import most_drawn_within

DAY_S = 86_400
WEEK_S = 7 * DAY_S
PATH = f"/v1/populations/{identifier_of('travellers')}"


@pytest.fixture
def orders(running: Any) -> Iterator[dict[str, Any]]:
    """Campaigns that ask ε = 1 of a population with a cap of 3 in 30 days and 4 for life."""
    caps = {"name": "travellers", "epsilon_per_period": 3, "period_days": 30, "epsilon_lifetime": 4}
    running.api.post("/v1/populations", json=caps).raise_for_status()
    return {"purpose": "x", "population": "travellers", "plan_request": running.ready_plan()["id"]}


def opens(running: Any, order: dict[str, Any], name: str, **terms: Any) -> int:
    """The status of opening a campaign of this name."""
    made = running.api.post("/v1/campaigns", json=order | {"name": name} | terms).raise_for_status().json()
    answered: int = running.api.post(f"/v1/campaigns/{made['id']}/open").status_code
    return answered


def budget(running: Any) -> dict[str, Any]:
    document: dict[str, Any] = running.api.get(PATH).raise_for_status().json()
    return document


def test_there_is_room_again_at_the_second_that_is_said(running: Any, orders: dict[str, Any]) -> None:
    start = running.clock.now()
    assert budget(running)["left"] == 3
    assert budget(running)["room"] is None
    for number in range(3):
        running.clock.advance(DAY_S)
        assert opens(running, orders, str(number)) == 200
    shown = budget(running)
    assert (shown["left"], shown["left_in_period"], shown["left_for_life"], shown["fits"]) == (0, 0, 1, [])
    assert shown["room"] == {"at": start + 31 * DAY_S, "epsilon": 1, "on": shown["room"]["on"]}
    running.clock.advance(shown["room"]["at"] - running.clock.now() - 1)
    assert opens(running, orders, "early") == 409
    running.clock.advance(1)
    assert budget(running)["left"] == 1
    assert opens(running, orders, "in time") == 200
    # Life leaves nothing: what leaves the period makes no room.
    assert (budget(running)["left"], budget(running)["room"]) == (0, None)
    entries = running.api.get(f"{PATH}/ledger").json()["entries"]
    assert [each["name"] for each in entries] == ["in time", "2", "1", "0"]
    assert [each["counts_until"] - each["opened_at"] for each in entries] == [30 * DAY_S] * 4


def test_what_fits_opens_and_one_more_does_not(running: Any, orders: dict[str, Any]) -> None:
    fit = next(each for each in budget(running)["fits"] if each["epsilon"] == 1)
    assert fit == {"epsilon": 1, "questions": 3, "weekly_slots": 2, "weekly_answers": 4}
    series = {"period_s": WEEK_S, "slots": fit["weekly_slots"], "answers_max": fit["weekly_answers"]}
    order = orders | {"series": series}
    assert opens(running, order, "too often", series=series | {"slots": 1}) == 409
    assert opens(running, order, "too many", series=series | {"answers_max": 5}) == 409
    assert opens(running, order, "weekly") == 200
    shown = budget(running)
    # A series that runs leaves no period by itself.
    assert (shown["left"], shown["room"], shown["asked_in_period"]) == (0, None, 3)
    (entry,) = running.api.get(f"{PATH}/ledger").json()["entries"]
    assert (entry["answers_max"], entry["counts_until"]) == (4, None)


@pytest.mark.parametrize("days", [1, 7, 28, 30, 365])
@pytest.mark.parametrize("answers", [1, 2, 5, 60])
def test_weeks_are_the_fewest(days: int, answers: int) -> None:
    found = _weeks(days, answers)
    asked = [most_drawn_within(days * DAY_S, slots * WEEK_S, WEEK_S) for slots in (found, found - 1) if slots]
    assert asked[0] <= answers
    assert all(each > answers for each in asked[1:])


def test_a_population_without_caps_has_no_end(running: Any) -> None:
    running.campaign("open")
    shown = budget(running)
    assert (shown["left"], shown["left_in_period"], shown["left_for_life"]) == (None, None, None)
    assert (shown["room"], shown["fits"]) == (None, [])
