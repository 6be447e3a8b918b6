"""Experiments behind a shuffler: arms inside the sealed bytes, a blanket for each, and one look at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_server.models import Role
from sordino_shared.protocol import Problem
from tests.server.console.conftest import Browsers
from tests.server.shuffled.collected import BOTH_ENGINES, Shuffled, create, shuffled_campaign

DAY_S = 86_400
DAYS = 2
ARMS = [{"name": "A", "weight": 32768}, {"name": "B", "weight": 32768}]
RULE = {"primary": "delay ≤ 0 min", "days": DAYS, "users": 2000}
# What devices hold: up to 0 minutes late, and more.
EARLY, LATE = 0, 3
A_USERS, B_USERS = 410, 390
Check = Callable[..., Any]


def terms(**rule: Any) -> dict[str, Any]:
    """The days of the experiment say when its shuffler takes the last report."""
    return {"changes": {"arms": ARMS, "experiment": RULE | rule}, "end": None}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def shuffled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shuffled]:
    url = request.getfixturevalue(f"migrated_{request.param}_url")
    with shuffled_campaign(url, tmp_path / "keys", **terms()) as found:
        yield found


def experiment_of(shuffled: Shuffled) -> dict[str, Any]:
    found: dict[str, Any] = shuffled.home.api.get(f"{shuffled.path}/experiment").raise_for_status().json()
    return found


def devices(shuffled: Shuffled) -> list[bytes]:
    """Half of those with A are early, all of those with B."""
    first = shuffled.sealed([EARLY, LATE] * (A_USERS // 2), seed=1, arm=0)
    return [*first, *shuffled.sealed([EARLY] * B_USERS, seed=2, arm=1)]


def blanket(shuffled: Shuffled) -> list[bytes]:
    return [*shuffled.blanket(seed=3, arm=0), *shuffled.blanket(seed=4, arm=1)]


@BOTH_ENGINES
def test_an_experiment_has_one_look_at_the_end_without_the_random_reports(shuffled: Shuffled) -> None:
    begun = experiment_of(shuffled)
    assert (begun["looks"], begun["days"], begun["blanket"], begun["made"]) == ("end", DAYS, shuffled.route.blanket, [])
    assert "the only one is made when the experiment is closed" in begun["finding"]
    browsers = Browsers(shuffled.home)
    page = browsers.of(Role.ANALYST).page(f"/console/experiments/{begun['campaign']}")
    browsers.close()
    assert f"<dd>{shuffled.route.blanket} random reports in each arm" in page
    assert shuffled.route.end == shuffled.home.clock.now() + DAYS * DAY_S
    # A day is over, and the batch is here before its time: nothing is opened, and nothing is shown.
    shuffled.end(DAY_S)
    reports = [*devices(shuffled), *blanket(shuffled)]
    shuffled.release(reports)
    shuffled.home.work()
    assert experiment_of(shuffled) == begun
    assert [arm["reports"] for arm in shuffled.status()["arms"]] == [0, 0]
    shuffled.end(DAY_S)
    shuffled.home.work()
    found = experiment_of(shuffled)
    (look,) = found["made"]
    assert (look["day"], look["ended"], look["closed"]) == (DAYS, True, True)
    assert [arm["reports"] for arm in look["arms"]] == [A_USERS, B_USERS]
    (one,) = look["comparisons"]
    assert (one["verdict"], one["boundary"]) == ("higher", pytest.approx(1.96, abs=0.01))
    assert abs(one["value"] - 0.5) < 4 * one["standard_error"] < 0.4
    for arm, truth in zip(look["arms"], (0.5, 1.0), strict=True):
        assert abs(arm["value"] - truth) < 4 * arm["standard_error"]
    status = shuffled.status()
    m = shuffled.route.blanket
    assert [(arm["reports"], arm["users"]) for arm in status["arms"]] == [
        (A_USERS + m, A_USERS),
        (B_USERS + m, B_USERS),
    ]
    assert status["rounds"][0]["users"] == A_USERS + B_USERS
    # It is the only look, whatever time passes.
    shuffled.end(3 * DAY_S)
    shuffled.home.work()
    assert experiment_of(shuffled)["made"] == found["made"]


def test_arms_and_their_comparison_subtract_the_blanket_of_each_arm(shuffled: Shuffled) -> None:
    shuffled.release([*devices(shuffled), *blanket(shuffled)])
    shuffled.end(DAYS * DAY_S)
    shuffled.home.work()
    get = shuffled.home.api.get
    arms = get(f"{shuffled.path}/arms").raise_for_status().json()
    assert [each["reports"] for each in arms["extras"]["arms"]] == [A_USERS, B_USERS]
    (look,) = experiment_of(shuffled)["made"]
    shares = [row for row, label in enumerate(arms["table"]["label"]) if label == RULE["primary"]]
    assert [arms["table"]["uncut"][row] for row in shares] == pytest.approx([arm["value"] for arm in look["arms"]])
    sides = {"left": f"{shuffled.campaign['id']}:A", "right": f"{shuffled.campaign['id']}:B"}
    compared = get("/v1/comparisons", params=sides).raise_for_status().json()
    place = compared["table"]["label"].index(RULE["primary"])
    assert compared["table"]["value"][place] == pytest.approx(look["comparisons"][0]["value"])
    assert compared["terms"]["users"] == A_USERS + B_USERS


def test_an_arm_that_the_campaign_does_not_have_is_refused_and_counted(shuffled: Shuffled) -> None:
    strange = [*shuffled.sealed([EARLY] * 3, seed=8, arm=2), *shuffled.sealed([EARLY], seed=9, arm=255)]
    shuffled.release([*devices(shuffled), *strange, *blanket(shuffled)])
    shuffled.end(DAYS * DAY_S)
    status = shuffled.status()
    assert status["refusals"] == {"no-such-arm": 4}
    assert (status["rounds"][0]["state"], status["rounds"][0]["batch"]["refused"]) == ("estimated", 4)
    assert [arm["users"] for arm in status["arms"]] == [A_USERS, B_USERS]


def test_a_blanket_for_one_arm_alone_is_no_blanket(shuffled: Shuffled, check_problem: Check) -> None:
    """The statement names m for each arm; where an arm has fewer reports than that, it is false."""
    few = [*shuffled.sealed([EARLY] * A_USERS, seed=1, arm=0), *shuffled.sealed([EARLY] * 5, seed=2, arm=1)]
    reports = [*few, *shuffled.blanket(seed=3, arm=0), *shuffled.blanket(seed=4, arm=0)]
    for page in shuffled.pages(reports):
        assert shuffled.push(page).status_code == 201
    m = shuffled.route.blanket
    half = shuffled.statement(reports, blanket=m, received=len(reports) - m)
    check_problem(shuffled.state(half), Problem.BATCH_CONFLICT, f"wants {2 * m} random reports")
    assert shuffled.state(shuffled.statement(reports)).status_code == 201
    shuffled.end(DAYS * DAY_S)
    (row,) = shuffled.status()["rounds"]
    assert row["state"] == "closed"
    assert f"mix signed that it mixed in {m} random reports for each arm, and arm B has 5 reports" in row["error"]
    assert experiment_of(shuffled)["made"] == []


def test_a_blanket_of_the_wrong_arm_is_an_alarm_of_the_sample_ratio(shuffled: Shuffled) -> None:
    """With as many users as random reports an arm may hide that it has no blanket; the counts then contradict."""
    wrong = [*shuffled.blanket(seed=3, arm=0), *shuffled.blanket(seed=4, arm=0)]
    shuffled.release([*devices(shuffled), *wrong])
    shuffled.end(DAYS * DAY_S)
    shuffled.home.work()
    (look,) = experiment_of(shuffled)["made"]
    assert look["sample_ratio"]["alarm"]
    assert [one["verdict"] for one in look["comparisons"]] == ["withheld"]


@pytest.mark.parametrize("looks", ["planned", "any", "always"])
def test_other_looks_than_the_one_at_the_end_are_refused(shuffled: Shuffled, check_problem: Check, looks: str) -> None:
    refused = create(shuffled.home, "cd" * 32, **terms(looks=looks))
    check_problem(refused, Problem.INVALID_REQUEST, "an experiment has one look: say `end`, or leave looks out")


def test_the_end_of_the_route_is_that_of_the_days(shuffled: Shuffled, check_problem: Check) -> None:
    now = shuffled.home.clock.now()
    one = terms(looks="end") | {"end": now + DAY_S}
    refused = create(shuffled.home, "cd" * 32, **one)
    check_problem(refused, Problem.INVALID_REQUEST, "takes reports for 1 day from now")
    close = terms() | {"end": now + DAYS * DAY_S - 60}
    assert create(shuffled.home, "cd" * 32, **close).status_code == 201
    again = {"changes": {"arms": ARMS}, "end": None}
    check_problem(create(shuffled.home, "cd" * 32, **again), Problem.INVALID_REQUEST, "/route/end")
