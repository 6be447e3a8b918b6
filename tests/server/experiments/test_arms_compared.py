"""All queries of a closed experiment: the estimates of its arms, and arms compared with each other and elsewhere."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
from typer.testing import CliRunner

from sordino_analysis.comparisons.difference import Side, difference
from sordino_analysis.comparisons.several import differences
from sordino_server import aggregates, rounds
from sordino_server.cli import app
from sordino_server.models import Role
from sordino_server.plans import service as plans
from sordino_shared.protocol import Problem
from tests.server.experiments.test_experiments import DAY_S, PRIMARY, Arms, order_of

THREE = [{"name": "A", "weight": 32768}, {"name": "B", "weight": 16384}, {"name": "C", "weight": 16384}]


def closed(running: Any, of_a: float, of_b: float, users: int = 3000, **order: Any) -> str:
    """An experiment of one day with this many users; `of_b` is the value of all arms but the first."""
    campaign = running.api.post("/v1/campaigns", json=order_of(running, days=1) | order).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(users, of_a, of_b)
    running.clock.advance(DAY_S)
    running.work()
    return str(campaign)


def test_arms_have_estimates_of_their_own(running: Any, check_problem: Any) -> None:
    campaign = closed(running, 30.0, -5.0)
    path = f"/v1/campaigns/{campaign}/arms"
    document = running.api.get(path).raise_for_status().json()
    table, arms = document["table"], document["extras"]["arms"]
    assert [arm["name"] for arm in arms] == ["A", "B"]
    assert sum(arm["reports"] for arm in arms) == 3000
    assert table["arm"] == ["A"] * 3 + ["B"] * 3
    assert table["users"] == [arm["reports"] for arm in arms for _ in range(3)]
    truth = np.array([0, 0, 1, 1, 1, 1])
    assert (np.abs(np.array(table["value"]) - truth) <= 6 * np.array(table["standard_error"])).all()
    # All reports together say what the arms do, by their reports.
    whole = running.api.get(f"/v1/campaigns/{campaign}/estimates").json()["table"]["uncut"]
    uncut, reports = np.array(table["uncut"]).reshape(2, 3), [arm["reports"] for arm in arms]
    np.testing.assert_allclose(whole, reports @ uncut / 3000)
    rows = list(csv.DictReader(io.StringIO(running.api.get(f"{path}?format=csv").text)))
    assert [row["arm"] for row in rows] == table["arm"]
    plain = running.campaign("open", "close")["id"]
    check_problem(running.api.get(f"/v1/campaigns/{plain}/arms"), Problem.NOT_FOUND, "no arms")
    assert running.client(running.key(Role.UPLOADER)).get(path).status_code == 403
    shown = CliRunner().invoke(
        app, ["experiment", "arms", campaign], env={"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    )
    assert f"A {arms[0]['reports']:,} users, B {arms[1]['reports']:,} users" in shown.stdout, shown.output


def test_two_arms_are_compared_over_all_queries_and_the_rule_decides_its_own(running: Any) -> None:
    campaign = closed(running, 30.0, -5.0)
    document = running.api.get(f"/v1/comparisons?left={campaign}:A&right={campaign}:B").raise_for_status().json()
    table, extras = document["table"], document["extras"]
    assert (set(table["left"]), set(table["right"])) == ({"A"}, {"B"})
    assert (extras["left"]["arm"], extras["left"]["name"]) == ("A", "faster-start")
    assert extras["population"] is True
    assert not any("different people" in warning for warning in extras["warnings"])
    assert table["verdict"] == ["higher", "higher", "undecided"]
    (look,) = running.api.get(f"/v1/campaigns/{campaign}/experiment").json()["made"]
    (one,) = look["comparisons"]
    row = table["label"].index(PRIMARY)
    for name in ("value", "lower", "upper", "verdict"):
        assert table[name][row] == one[name]
    assert (table["band_lower"][row], table["population_upper"][row]) == (one["lower"], one["upper"])
    assert extras["decided"] == f"{PRIMARY}: the row is that of the look of day 1, by the experiment's rule at 95 %"
    # Where the query that decides is not asked, no row is said to be that of a look.
    other = f"/v1/comparisons?left={campaign}:A&right={campaign}:B&query={table['label'][1 - row]}"
    assert "decided" not in running.api.get(other).raise_for_status().json()["extras"]
    # By hand: the arms' own answers, and errors that add up in squares.
    own = running.api.get(f"/v1/campaigns/{campaign}/arms").json()["table"]
    value, error = np.array(own["uncut"]).reshape(2, 3), np.array(own["standard_error"]).reshape(2, 3)
    np.testing.assert_allclose(table["value"][1:], (value[1] - value[0])[1:])
    np.testing.assert_allclose(table["standard_error"][1:], np.sqrt((error**2).sum(axis=0))[1:])
    back = running.api.get(f"/v1/comparisons?left={campaign}:B&right={campaign}:A").json()["table"]
    assert back["verdict"] == ["lower", "lower", "undecided"]
    assert (back["lower"][row], back["upper"][row]) == (-one["upper"], -one["lower"])
    assert (back["left_value"][row], back["right_value"][row]) == (table["right_value"][row], table["left_value"][row])


def test_one_band_holds_all_arms_less_the_left_one(running: Any, check_problem: Any) -> None:
    campaign = closed(running, 30.0, 30.0, arms=THREE)
    row = running.api.get(f"/v1/campaigns/{campaign}/status").json()["rounds"][0]
    with running.database.read("plan") as session:
        plan = plans.device_part(session, row["device_digest"]), plans.analyst_part(session, row["analyst_digest"])
        number = rounds.of_campaign(session, campaign)[0].id
    sums = aggregates.arms_of(running.database, number, plan[0].randomizer)
    sides = [Side.of_plan(*plan, each, 0.95) for each in sums]
    both = differences(sides[0], sides[1:], population=True)
    alone = difference(sides[0], sides[1], population=True)
    for arm, found in zip("BC", both, strict=True):
        asked = f"/v1/comparisons?left={campaign}:A&right={campaign}:{arm}"
        table = running.api.get(asked).raise_for_status().json()["table"]
        np.testing.assert_allclose(table["band_upper"][1:], found.band[1:, 1])
        assert table["verdict"] == ["undecided"] * 3
    assert both[0].quantile == both[1].quantile > alone.quantile + 0.1
    refused = running.api.get(f"/v1/comparisons?left={campaign}&right={campaign}:A")
    check_problem(refused, Problem.INVALID_REQUEST, "an arm is a part of its campaign")
    refused = running.api.get(f"/v1/comparisons?left={campaign}:A&right={campaign}:A")
    check_problem(refused, Problem.INVALID_REQUEST, "or two arms")


def test_an_alarm_of_the_sample_ratio_withholds_all_verdicts(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running, days=1)).json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    arms = Arms(running, campaign)
    arms.answer(2000, 30.0, -5.0, moved=300)
    running.clock.advance(DAY_S)
    running.work()
    document = running.api.get(f"/v1/comparisons?left={campaign}:A&right={campaign}:B").raise_for_status().json()
    assert document["table"]["verdict"] == ["withheld"] * 3
    assert min(document["table"]["lower"][:2]) > 0.5
    printed = CliRunner().invoke(
        app,
        ["campaigns", "compare", f"{campaign}:A", f"{campaign}:B"],
        env={"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"},
    )
    assert "no verdict: the counts of the arms are not those of their weights" in printed.stdout, printed.output
    assert "left: faster-start A, " in printed.stdout
    assert "right: faster-start B, " in printed.stdout


def test_an_alarm_withholds_verdicts_of_quantiles_and_of_every_two_arms(running: Any) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running, days=1) | {"arms": THREE}).json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(2000, 30.0, -5.0, moved=300)
    running.clock.advance(DAY_S)
    running.work()
    for left, right, asked in (("A", "B", "&quantile=0.5"), ("A", "C", "&distribution=delay"), ("B", "C", "")):
        path = f"/v1/comparisons?left={campaign}:{left}&right={campaign}:{right}{asked}"
        table = running.api.get(path).raise_for_status().json()["table"]
        assert set(table["verdict"]) == {"withheld"}, path


def test_an_arm_is_compared_with_another_campaign(running: Any) -> None:
    first = closed(running, 30.0, -5.0)
    second = closed(running, 30.0, 30.0, name="again")
    document = running.api.get(f"/v1/comparisons?left={second}:A&right={first}:B").raise_for_status().json()
    assert set(document["table"]["right"]) == {"faster-start B"}
    assert document["extras"]["population"] is False
    assert document["table"]["verdict"][0] == "higher"
    assert json.loads(json.dumps(document))["extras"].get("decided") is None


MEASURES = {
    "name": "starts",
    "domain": [{"name": "load_ms", "kind": "number", "low": 0, "high": 5000, "unit": "ms"}],
    "queries": {"load_ms": ["mean", "sd", "sum", {"quantile": [0.5], "bins": 16}]},
}


def test_every_measure_of_arms_is_compared_with_its_lift(running: Any) -> None:
    plan = running.ready_plan(workload=running.workload(MEASURES), epsilon=4, mechanism=None)["id"]
    rule = {"primary": "mean of load_ms", "days": 1, "users": 3000, "looks": "end"}
    campaign = closed(running, 1000.0, 3000.0, plan_request=plan, arms=THREE, experiment=rule)
    path = f"/v1/comparisons?left={campaign}:A&right={campaign}:B"
    document = running.api.get(path).raise_for_status().json()
    table = document["table"]
    assert table["kind"] == ["mean", "sd", "sum"]
    assert table["verdict"][0] == "higher"
    # The row of the look has its lift; 2,000 on 1,000 are 200 % more.
    assert table["lift_lower"][0] < 2 < table["lift_upper"][0]
    warnings = document["extras"]["warnings"]
    assert sum("sums are over the users of each arm" in text for text in warnings) == 1
    # Which side it is on does not matter: it is no number on either.
    assert any(
        text.endswith("quantile of load_ms: it is a range and no number, whose shift is asked alone")
        for text in warnings
    )
    # Both other arms have a band: Bonferroni's of six measures is wider than of two.
    alone = running.api.get(f"{path}&query=sd of load_ms").json()["table"]
    assert alone["band_upper"][0] < table["band_upper"][1]
    shift = running.api.get(f"{path}&quantile=0.5").raise_for_status().json()["table"]
    assert shift["verdict"] == ["higher"]
    assert shift["lower"][0] <= 2000 <= shift["upper"][0]
    printed = CliRunner().invoke(
        app,
        ["campaigns", "compare", f"{campaign}:A", f"{campaign}:B"],
        env={"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"},
    )
    assert "lift" in printed.stdout, printed.output


def test_a_whole_distribution_of_arms_is_asked_for(running: Any, check_problem: Any) -> None:
    campaign = closed(running, 30.0, -5.0)
    path = f"/v1/comparisons?left={campaign}:A&right={campaign}:B"
    steps = running.api.get(f"{path}&distribution=delay").raise_for_status().json()["table"]
    assert steps["label"][0] == PRIMARY
    assert steps["verdict"][0] == "higher"
    for more, said in (
        ("&quantile=0.5&distribution=delay", "leave `distribution` out"),
        ("&query=x&distribution=delay", "leave `query` out"),
        ("&distribution=wifi", "no ordered attribute of this name; it has delay"),
        ("&level=0.9999999999999999", "at most 1 − 10⁻⁹"),
    ):
        check_problem(running.api.get(path + more), Problem.INVALID_REQUEST, said)
    printed = CliRunner().invoke(
        app,
        ["campaigns", "compare", f"{campaign}:A", f"{campaign}:B", "--distribution", "delay", "--json"],
        env={"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key},
    )
    assert json.loads(printed.stdout)["table"] == steps, printed.output


def test_a_closed_experiment_says_which_arm_has_no_reports(running: Any) -> None:
    order = order_of(running, days=2)
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(40, 30.0, 30.0, moved=40)
    running.clock.advance(DAY_S)
    running.work()
    path = f"/v1/campaigns/{campaign}/experiment"
    assert running.api.get(path).json()["finding"] == "day 1 of 2: arm B has no reports yet"
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    running.work()
    assert running.api.get(path).json()["finding"] == (
        "day 2 of 2: arm B has no reports, and the experiment is closed: there is nothing to compare"
    )
