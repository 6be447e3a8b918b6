"""Experiments on a server: looks on planned days alone, one verdict, nothing else of an open campaign."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from typer.testing import CliRunner

from sordino_analysis.figures import figure
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import Caps, Client, PureEpsilon
from sordino_server import aggregates
from sordino_server.cli import app
from sordino_server.cli.experiment import arms_of
from sordino_server.experiments import looking, repository
from sordino_server.models import LookRow, ReportChunk, Role, Round
from sordino_server.plans import service as plans
from sordino_server.simulation import DeviceFleet
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from tests.server.conftest import WORKLOAD
from tests.server.console.conftest import Browsers

DAY_S = 86_400
ARMS = [{"name": "A", "weight": 32768}, {"name": "B", "weight": 32768}]
PRIMARY = "delay ≤ 0 min"
CAPS = Caps(per_period=PureEpsilon.of(4), lifetime=PureEpsilon.of(4), period_days=1)


def order_of(running: Any, **rule: Any) -> dict[str, Any]:
    plan = running.ready_plan(epsilon=4)
    terms = {"name": "faster-start", "purpose": "x", "population": "app", "plan_request": plan["id"], "arms": ARMS}
    return terms | {"experiment": {"primary": PRIMARY, "days": 4, "users": 40_000} | rule}


class Arms:
    """Devices of an experiment whose arms hold different values."""

    def __init__(self, running: Any, campaign: str) -> None:
        self._client = Client(running.address, ledger=":memory:", caps=CAPS, allow_http=True)
        self._client.join(campaign)
        self._fleet = DeviceFleet(self._client, campaign)
        self._next = 0

    def answer(self, count: int, of_a: float, of_b: float, moved: int = 0) -> None:
        """The arms are drawn when devices are enrolled: they are read, then each answers by its own.

        So many as `moved` of those that drew a later arm report the first one.
        """
        randomness = SeededRandomness(self._next + 1)
        self._fleet._enrol(self._next + count, randomness)
        drawn = self._fleet._arms[self._next :]
        drawn[np.flatnonzero(drawn)[:moved]] = 0
        values = [of_b if arm else of_a for arm in drawn.tolist()]
        self._fleet.answer_many(values, randomness, first_device=self._next)
        assert self._fleet.flush().delivered == count
        self._next += count


@pytest.fixture(params=["running", "running_on_postgres"])
def running_any(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_looks_are_made_on_planned_days_and_stop_at_a_difference(running_any: Any) -> None:
    running = running_any
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()
    path = f"/v1/campaigns/{campaign['id']}/experiment"
    assert running.api.get(path).json()["finding"].startswith("no look was made yet")
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    arms = Arms(running, campaign["id"])
    arms.answer(400, 30.0, 30.0)
    running.work()
    assert running.api.get(path).json()["made"] == []
    running.clock.advance(DAY_S)
    running.work()
    first = running.api.get(path).json()
    (look,) = first["made"]
    assert (look["day"], look["closed"], sum(arm["reports"] for arm in look["arms"])) == (1, False, 400)
    assert look["comparisons"][0]["verdict"] == "undecided"
    arms.answer(2000, 30.0, -5.0)
    running.work()
    assert running.api.get(path).json() == first
    running.clock.advance(DAY_S)
    running.work()
    second = running.api.get(path).json()
    assert second["made"][0] == look
    assert second["made"][1]["comparisons"][0]["verdict"] == "higher"
    assert "B is higher, B − A is" in second["finding"]
    assert "early results overstate the difference" in second["finding"]
    # A difference was found: no look follows, also not at the end.
    running.clock.advance(3 * DAY_S)
    running.work()
    shown = running.api.get(path).json()
    assert shown["made"] == second["made"]
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    # The look that decided, and not the estimate of all arms together, which came after it.
    assert (status["state"], status["headline"]) == ("closed", shown["finding"])
    assert running.api.get(f"/v1/campaigns/{campaign['id']}/finding").json()["sentences"] == [shown["finding"]]


NUMBERS = {
    "name": "starts",
    "domain": [{"name": "load_ms", "kind": "number", "low": 0, "high": 5000, "unit": "ms"}],
    "queries": {"load_ms": "mean"},
}


def test_a_mean_decides_and_is_said_in_its_unit(running: Any) -> None:
    plan = running.ready_plan(workload=running.workload(NUMBERS), epsilon=4, mechanism=None)["id"]
    order = order_of(running, primary="mean of load_ms", looks="end", days=1, users=3000, spread=0.1)
    campaign = running.api.post("/v1/campaigns", json=order | {"plan_request": plan}).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(3000, 1000.0, 1500.0)
    running.clock.advance(DAY_S)
    running.work()
    shown = running.api.get(f"/v1/campaigns/{campaign}/experiment").json()
    (look,) = shown["made"]
    (one,) = look["comparisons"]
    # Numbers at one place of the range: the error is that of the randomizer, and of rounding to 17 levels.
    assert abs(one["value"] - 500) < 5 * one["standard_error"] < 250
    assert (one["verdict"], look["unit"]) == ("higher", "ms")
    assert all(abs(arm["value"] - truth) < 150 for arm, truth in zip(look["arms"], (1000, 1500), strict=True))
    assert re.search(r"B is higher, B − A = \d+ ms \(\d+ … \d+ ms\)", shown["finding"])


def test_the_square_of_a_number_is_no_primary_metric(running: Any, check_problem: Any) -> None:
    workload = NUMBERS | {"queries": {"load_ms": ["mean", "sd"]}}
    plan = running.ready_plan(workload=running.workload(workload), epsilon=4, mechanism=None)["id"]
    for primary in ("sd of load_ms", "mean square of load_ms"):
        refused = running.api.post("/v1/campaigns", json=order_of(running, primary=primary) | {"plan_request": plan})
        check_problem(refused, Problem.INVALID_REQUEST, "it has 'mean of load_ms'")


def test_the_pinned_end_has_the_last_look(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running, looks="end", days=2)).json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    Arms(running, campaign["id"]).answer(600, 30.0, 30.0)
    running.clock.advance(DAY_S)
    running.work()
    path = f"/v1/campaigns/{campaign['id']}/experiment"
    assert running.api.get(path).json()["made"] == []
    finding = running.api.get(path).json()["finding"]
    assert finding == "no look was made yet: the only one is made when the experiment is closed"
    running.clock.advance(DAY_S)
    running.work()
    (look,) = running.api.get(path).json()["made"]
    assert (look["day"], look["ended"], look["closed"]) == (2, True, True)
    assert look["comparisons"][0]["boundary"] == pytest.approx(1.96, abs=0.001)
    assert look["sample_ratio"]["chance"] is not None


def test_looks_that_hold_always_need_reports_that_are_counted(running: Any, check_problem: Any) -> None:
    plan = running.ready_plan(epsilon=1, mechanism="subset_selection")["id"]
    refused = running.api.post("/v1/campaigns", json=order_of(running, looks="always") | {"plan_request": plan})
    check_problem(refused, Problem.INVALID_REQUEST, "/experiment/looks: looks that hold always need reports")
    for terms, said in (
        ({"looks": "always", "expect": 2}, "/experiment/looks: the expected answer lies between 0 and 1, not 2"),
        ({"looks": "any", "expect": 0.5}, "expect goes with looks `always`"),
    ):
        wrong = running.api.post("/v1/campaigns", json=order_of(running, **terms))
        check_problem(wrong, Problem.INVALID_REQUEST, said)
    order = order_of(running, looks="always", expect=0.5)
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
    assert running.api.get(f"/v1/campaigns/{campaign}/experiment").json()["expect"] == 0.5
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    arms = Arms(running, campaign)
    for day in (1, 2):
        arms.answer(1000, 30.0, -5.0)
        running.clock.advance(DAY_S)
        running.work()
        looks = running.api.get(f"/v1/campaigns/{campaign}/experiment").json()["made"]
        # The first look decides: none follows.
        assert len(looks) == 1, day
    (one,) = looks[0]["comparisons"]
    assert one["verdict"] == "higher"
    assert one["lower"] < one["value"] < one["upper"]
    assert all(arm["squares"] > 0 for arm in looks[0]["arms"])


def test_a_query_that_the_plan_lacks_is_refused_before_any_device_spends(running: Any, check_problem: Any) -> None:
    order = order_of(running, primary="load = slow")
    response = running.api.post("/v1/campaigns", json=order)
    check_problem(response, Problem.INVALID_REQUEST, f"no query 'load = slow'; it has '{PRIMARY}'")
    assert running.api.get("/v1/campaigns").json()["campaigns"] == []


def test_one_look_is_made_when_the_experiment_is_closed_before_its_day(running: Any) -> None:
    """It spent nothing before: without it all reports would be for nothing."""
    campaign = running.api.post("/v1/campaigns", json=order_of(running, looks="end", days=9)).json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    Arms(running, campaign["id"]).answer(600, 30.0, -5.0)
    running.clock.advance(DAY_S)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    (look,) = running.api.get(f"/v1/campaigns/{campaign['id']}/experiment").json()["made"]
    assert (look["day"], look["closed"], look["ended"]) == (2, True, True)
    assert look["comparisons"][0]["verdict"] == "higher"


def test_a_cancelled_experiment_is_never_looked_at(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    Arms(running, campaign["id"]).answer(50, 30.0, 30.0)
    running.clock.advance(DAY_S)
    running.api.post(f"/v1/campaigns/{campaign['id']}/cancel").raise_for_status()
    running.work()
    assert running.api.get(f"/v1/campaigns/{campaign['id']}/experiment").json()["made"] == []


@pytest.mark.parametrize("wrong", ["log", "bug"])
def test_what_is_wrong_with_one_experiment_stops_no_worker(
    running: Any, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    made = []
    for name in ("broken", "sound"):
        campaign = running.api.post("/v1/campaigns", json=order_of(running) | {"name": name}).json()
        running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
        Arms(running, campaign["id"]).answer(50, 30.0, 30.0)
        made.append(campaign["id"])
    with running.database.write("break") as session:
        first = session.scalars(select(Round.id).where(Round.campaign_id == made[0])).one()
        if wrong == "log":
            of_first = update(ReportChunk).where(ReportChunk.round_id == first)
            session.execute(of_first.values(count=ReportChunk.count + 1))
    if wrong == "bug":
        arms_of = aggregates.arms_of

        def broken(database: Any, round_id: int, *rest: Any) -> Any:
            return 1 / 0 if round_id == first else arms_of(database, round_id, *rest)

        monkeypatch.setattr(aggregates, "arms_of", broken)
    running.clock.advance(DAY_S)
    running.work()
    shown = [running.api.get(f"/v1/campaigns/{each}/experiment").json() for each in made]
    told = "altered from outside" if wrong == "log" else "the computation failed (ZeroDivisionError)"
    assert "look of day 1 could not be made" in shown[0]["finding"]
    assert told in shown[0]["finding"]
    assert len(shown[1]["made"][0]["comparisons"]) == 1
    # The next day is tried again.
    monkeypatch.undo()
    with running.database.write("mend") as session:
        if wrong == "log":
            of_first = update(ReportChunk).where(ReportChunk.round_id == first)
            session.execute(of_first.values(count=ReportChunk.count - 1))
    running.clock.advance(DAY_S)
    running.work()
    looks = running.api.get(f"/v1/campaigns/{made[0]}/experiment").json()["made"]
    assert [(look["day"], len(look["comparisons"])) for look in looks] == [(1, 0), (2, 1)]


def test_a_plan_that_is_looked_at_once_is_not_read_at_every_poll(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(50, 30.0, 30.0)
    running.clock.advance(DAY_S)
    read, device_part = [], plans.device_part

    def counted(session: Any, digest: str) -> Any:
        read.append(digest)
        return device_part(session, digest)

    with monkeypatch.context() as patched:
        patched.setattr(aggregates, "summed_on_ingest", lambda randomizer: False)
        patched.setattr(plans, "device_part", counted)
        for _ in range(3):
            assert looking.make_due_looks(running.database, running.clock.now()) == []
    assert len(read) == 1
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    (made,) = looking.make_due_looks(running.database, running.clock.now())
    assert made.day == 2


def test_a_look_of_a_slow_worker_comes_between_no_others(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()["id"]

    def add(day: int, earlier: int, over: bool = False) -> bool:
        with running.database.write("look") as session:
            look = LookRow(campaign_id=campaign, day=day, over=over, content=b"{}", created_at=0)
            return repository.add(session, look, "{}", earlier=earlier)

    assert add(2, 0)
    # One that knew of no look, of an earlier day, of the same day, and after the last.
    assert [add(3, 0), add(1, 1), add(2, 1), add(3, 1, over=True), add(4, 2)] == [False, False, False, True, False]
    with running.database.read("days") as session:
        assert [look.day for look in repository.looks(session, campaign)] == [2, 3]


@pytest.mark.parametrize("arms", ["A:nan,B:1", "A:inf,B:1", "A:0,B:1", "A:1e400,B:1"])
def test_weights_that_are_no_numbers_are_refused(arms: str) -> None:
    with pytest.raises(InvalidValue, match="a number above 0"):
        arms_of(arms)


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ("A:1", "one arm compares nothing"),
        ("A:1,a:2", "without regard to case"),
        ("A:1,,B:1", "name of an arm"),
        ("new one:1,B:1", "letters of ASCII"),
        (",".join(f"v{number}:1" for number in range(17)), "number of arms"),
    ],
)
def test_arms_that_no_device_may_draw_are_refused(arms: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        arms_of(arms)


def test_the_command_creates_shows_and_ends(running: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_SERVER", running.address)
    monkeypatch.setenv("SORDINO_KEY", running.admin_key)
    file = tmp_path / "delays.json"
    file.write_text(json.dumps(WORKLOAD))

    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["experiment", *arguments], env={"COLUMNS": "200"})
        assert result.exit_code == code, (result.output, result.exception)
        return str(result.stdout if code == 0 else result.stderr)

    running.ready_plan(epsilon=1, mechanism=None)
    terms = ("--name", "start", "--population", "app", "--purpose", "x", "--file", str(file), "--epsilon", "1")
    rule = ("--primary", PRIMARY, "--days", "3", "--daily", "500", "--arms", "old:3,new:1")
    made = json.loads(run("create", *terms, *rule, "--open", "--json"))
    told = run("create", *terms, *rule, "--name", "told")
    # One of four is in the smaller arm: a share of fake reports there is four times that of all.
    figures = running.api.get("/v1/plan-requests").json()["plan_requests"][0]["id"]
    moved = running.api.get(f"/v1/plan-requests/{figures}").json()["summary"]["manipulation"]
    assert f"1 % of fake reports can move a difference by up to {figure(0.04 * moved, 3)}" in told
    assert "if all of them are in arm new" in " ".join(told.split())
    listed = json.loads(run("list", "--json"))
    assert listed["experiments"] == running.api.get("/v1/experiments").json()["experiments"]
    assert {each["name"] for each in listed["experiments"]} == {"told", "start"}
    (line,) = (each for each in run("list").splitlines() if " start " in each)
    assert line.startswith(made["id"])
    assert line.endswith("no look was made yet: the first one is made when the first day is over")
    plans_before = len(running.api.get("/v1/plan-requests").json()["plan_requests"])
    assert [(arm["name"], arm["weight"]) for arm in made["arms"]] == [("old", 49152), ("new", 16384)]
    assert "no look was made yet" in run("show", "start")
    assert json.loads(run("show", made["id"], "--json"))["users"] == 1500
    Arms(running, made["id"]).answer(300, 30.0, 30.0)
    assert "start is closed" in run("end", "start")
    running.work()
    shown = run("show", "start")
    browsers = Browsers(running)
    page = " ".join(browsers.of(Role.ANALYST).page(f"/console/campaigns/{made['id']}").split())
    browsers.close()
    assert "<h2>Looks</h2><p>day 1 of 3: no difference found yet, new − old = " in page
    assert "new − old" in shown
    assert f"primary: {PRIMARY}; reports: old " in shown
    assert "such as A:1,B:1" in run("create", *terms, *rule[:-1], "A:x", code=2)
    # Wrong arms are said before anything is planned for them.
    assert "such as A:1,B:1" in run("create", *terms[:-1], "3", *rule[:-1], "A:x", code=2)
    for wrong in ("60%", "0", "nan"):
        assert "at most 50%" in run("create", *terms[:-1], "3", *rule, "--spread", wrong, code=2)
    assert len(running.api.get("/v1/plan-requests").json()["plan_requests"]) == plans_before
    # One that cannot be opened is shown all the same: it is there.
    running.api.post("/v1/populations", json={"name": "capped", "epsilon_lifetime": 0.5}).raise_for_status()
    capped = ("--name", "second", "--population", "capped", *terms[4:])
    assert "open it later, or cancel it" in run("create", *capped, *rule, "--open", code=2)
    assert "no look was made yet" in run("show", "second")


def test_an_experiment_that_was_never_opened_may_be_deleted(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()
    running.api.delete(f"/v1/campaigns/{campaign['id']}").raise_for_status()


def test_what_is_no_experiment_has_no_looks(running: Any, check_problem: Any) -> None:
    plain = running.campaign("open")
    check_problem(running.api.get(f"/v1/campaigns/{plain['id']}/experiment"), Problem.NOT_FOUND, "no experiment")


@pytest.mark.parametrize(
    ("changes", "mentioned"),
    [
        ({"arms": []}, "arms"),
        ({"close_after_s": 5}, "days"),
        ({"experiment": {"primary": "x", "days": 0, "users": 10}}, "days"),
        ({"experiment": {"primary": "x", "days": 3, "users": 10, "looks": "hourly"}}, "looks"),
        ({"experiment": {"primary": "x", "days": 3, "users": 10, "spread": 0.6}}, "spread"),
    ],
)
def test_rules_that_nobody_can_keep_are_refused(
    running: Any, check_problem: Any, changes: dict[str, Any], mentioned: str
) -> None:
    response = running.api.post("/v1/campaigns", json=order_of(running) | changes)
    check_problem(response, Problem.INVALID_REQUEST, mentioned)
