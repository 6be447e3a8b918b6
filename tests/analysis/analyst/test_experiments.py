"""Experiments in a notebook: design, power, looks, and what simulated ones find."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_shared.errors import InvalidValue

VALUES = np.repeat([0.5, 1.5, 2.5], [200, 300, 500])


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    return sa.plan(sa.histogram(3), epsilon=4, mechanism="randomized_response")


def design_of(plan: sa.Plan, **terms: object) -> sa.Experiment:
    given: dict[str, object] = {"daily": 400, "days": 5} | terms
    return sa.experiment(plan, plan.workload.label(0), **given)  # type: ignore[arg-type]


def test_power_is_that_of_the_plan_and_goes_both_ways(plan: sa.Plan) -> None:
    design = design_of(plan, looks="end")
    users = design.users(0.05)
    noise = float(plan.analyst.figures.max_variance) + 0.25
    assert users == pytest.approx((1.959964 + 0.841621) ** 2 * 4 * noise / 0.05**2, rel=0.01)
    assert design_of(plan, daily=users // 5).difference(5) == pytest.approx(0.05 * 1.02, rel=0.02)
    assert design_of(plan).users(0.05) > users
    assert design_of(plan, arms={"old": 3, "new": 1}, looks="end").users(0.05) > 1.3 * users


def test_looks_of_one_day_after_the_other_end_with_a_verdict(plan: sa.Plan) -> None:
    design = design_of(plan, days=3, daily=2000)
    days, sums = [], [sa.Aggregate.empty(plan.device.randomizer)] * 2
    for day in range(3):
        held = (VALUES, np.repeat([0.5, 1.5, 2.5], [100, 400, 500]))
        runs = [sa.simulate(plan, values, seed=2 * day + arm) for arm, values in enumerate(held)]
        sums = [total + run.aggregate for total, run in zip(sums, runs, strict=True)]
        days.append(list(sums))
    found = design.look(days)
    assert len(found.looks) == 3
    assert found.looks[-1]["comparisons"][0]["verdict"] == "lower"
    assert "B is lower" in str(found)
    assert str(design.look(days[:1])).startswith("day 1 of 3: ")


def test_an_a_a_test_alarms_at_the_level_and_naive_looks_do_not(plan: sa.Plan) -> None:
    """300 of ten days: .05 and about .19 of them; 4 to 28 and 35 or more with chance .998."""
    found = design_of(plan, days=10, daily=200).simulate(VALUES, seed=1, runs=300)
    assert 4 <= found.found <= 28
    assert found.naive >= 35
    assert found.naive >= found.found
    assert found.alarms <= 3
    assert "false alarms by the rule" in str(found)


@pytest.mark.parametrize("effect", [0.05, -0.05])
def test_an_effect_is_found_as_often_as_the_power_says(plan: sa.Plan, effect: float) -> None:
    """The users for 80 %, with the spread that the values have: of 100 runs 66 to 92 with chance .997."""
    design = design_of(plan, looks="end", spread=0.4, days=2)
    design = design_of(plan, looks="end", spread=0.4, days=2, daily=design.users(0.05) // 2)
    found = design.simulate(VALUES, seed=3, effect=effect, runs=100)
    assert 66 <= found.found <= 92
    assert "differences found by the rule" in str(found)


def test_looks_that_hold_always_are_sized_by_their_own_bound(plan: sa.Plan) -> None:
    """The users for 80 %, of whom 80 % hold the value: of 100 runs 66 to 92 with chance .997. Any time has too few."""
    held = np.repeat([0.5, 1.5, 2.5], [800, 100, 100])
    always, any_time = (design_of(plan, looks=looks, spread=0.4, days=2).users(0.05) for looks in ("always", "any"))
    assert always > 5 * any_time
    design = design_of(plan, looks="always", spread=0.4, days=2, daily=always // 2)
    assert design.difference(2) == pytest.approx(0.05, rel=1e-3)
    assert 66 <= design.simulate(held, seed=3, effect=0.05, runs=100).found <= 92
    few = design_of(plan, looks="always", spread=0.4, days=2, daily=any_time // 2)
    assert few.simulate(held, seed=3, effect=0.05, runs=100).found <= 20
    # A difference that the fewest users find.
    assert design.users(1e6) == 2


def test_an_expected_answer_needs_fewer_users_and_finds_as_often(plan: sa.Plan) -> None:
    """The users for 80 %, of whom 80 % hold the value as expected: of 100 runs 66 to 92 with chance .997."""
    held = np.repeat([0.5, 1.5, 2.5], [800, 100, 100])
    terms = {"looks": "always", "spread": 0.4, "days": 2}
    unknown, known = (design_of(plan, **terms, **more).users(0.05) for more in ({}, {"expect": 0.8}))
    assert known < 0.6 * unknown
    design = design_of(plan, **terms, expect=0.8, daily=known // 2)
    assert 66 <= design.simulate(held, seed=3, effect=0.05, runs=100).found <= 92
    with pytest.raises(InvalidValue, match="looks='always'"):
        design_of(plan, expect=0.8)
    with pytest.raises(InvalidValue, match="lies between 0 and 1"):
        design_of(plan, **terms, expect=1.2)


def test_a_mean_of_numbers_is_moved_too() -> None:
    load = {"name": "load", "kind": "number", "low": 0, "high": 1000, "unit": "ms"}
    plan = sa.plan(sa.workload({"name": "n", "domain": [load], "queries": {"load": "mean"}}), epsilon=4, effort="quick")
    design = sa.experiment(plan, "mean of load", daily=400, days=3)
    values = np.random.default_rng(1).exponential(100, 500)
    assert design.simulate(values, seed=1, effect=0.3, runs=8).found == 8
    assert design.simulate(values, seed=1, runs=8).found <= 2
    with pytest.raises(InvalidValue, match=r"cannot be −0\.5 of the scale higher"):
        design.simulate(values, seed=1, effect=-0.5, runs=2)


def test_the_same_seed_gives_the_same_experiments(plan: sa.Plan) -> None:
    runs = [design_of(plan).simulate(VALUES, seed=seed, runs=20) for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"looks": "hourly"}, "planned, end, any, always"),
        ({"days": 0}, "1 to 366 days"),
        ({"daily": 0}, "a user a day"),
        ({"spread": 0.6}, "spread lies between"),
        ({"level": 1.0}, "level between"),
        ({"arms": {"A": 1}}, "2 to 16 arms"),
        ({"arms": {f"v{i}": 1 for i in range(17)}}, "2 to 16 arms"),
        ({"arms": {"A": 1, "B": 0}}, "a weight above 0"),
        ({"arms": {"A": 1, "B": "x"}}, "must be a number"),
    ],
)
def test_designs_that_no_server_pins_are_refused(plan: sa.Plan, terms: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        design_of(plan, **terms)


def test_what_is_no_query_and_no_sums_is_refused(plan: sa.Plan) -> None:
    with pytest.raises(InvalidValue, match="no query 'load'"):
        sa.experiment(plan, "load", daily=5)
    design, run = design_of(plan, days=1), sa.simulate(plan, VALUES, seed=1)
    for wrong in ([], [[run.aggregate]], [[run.aggregate] * 2] * 2):
        with pytest.raises(InvalidValue, match="1 to 1 days, each with the sums of 2 arms"):
            design.look(wrong)
    with pytest.raises(InvalidValue, match="days lie between"):
        design.difference(3)
    with pytest.raises(InvalidValue, match="one experiment or more"):
        design.simulate(VALUES, seed=1, runs=0)


def test_arms_are_compared_over_all_answers_with_one_band(plan: sa.Plan) -> None:
    held = (VALUES, VALUES, np.repeat([0.5, 1.5, 2.5], [100, 400, 500]))
    sums = [sa.simulate(plan, np.tile(values, 3), seed=arm).aggregate for arm, values in enumerate(held)]
    design = design_of(plan, arms={"A": 1, "B": 1, "C": 1})
    found = design.compare(sums, "C")
    assert (found.left, found.right) == ("A", "C")
    assert found.verdicts[0] == "lower"
    assert not any("different people" in warning for warning in found.warnings)
    alone = sa.compare(sa.estimate(plan, sums[0]), sa.estimate(plan, sums[2]), population=True)
    assert (np.diff(found.band) > np.diff(alone.band)).all()
    back = design.compare(sums, "A", "C")
    np.testing.assert_allclose(back.values, -found.values)
    # An arm without reports is compared with none, and widens no band.
    empty = sa.Aggregate.empty(plan.device.randomizer)
    np.testing.assert_allclose(design.compare([sums[0], empty, sums[2]], "C").band, alone.band)
    # Arms of one weight have 3,000 users each: with weights that say otherwise no verdict stands, and numbers do.
    skewed = design_of(plan, arms={"A": 1, "B": 1, "C": 2}).compare(sums, "C")
    assert set(skewed.verdicts) == set(skewed.table.columns["verdict"]) == {"withheld"}
    assert skewed.findings == ("no verdict: the counts of the arms are not those of their weights",)
    np.testing.assert_allclose(skewed.band, found.band)
    for wrong, said in ((("D",), "no arm 'D': the arms are A, B, C"), (("A",), "the left arm too")):
        with pytest.raises(InvalidValue, match=said):
            design.compare(sums, *wrong)
    with pytest.raises(InvalidValue, match="the sums of 3 arms"):
        design.compare(sums[:2], "C")
