"""Numbers of estimates, simulations and plans as they are printed: shares in per cent, others in their unit."""

import numpy as np

import sordino_analysis as sa
from sordino_analysis.planning import plan_warnings

WAIT = {"name": "wait", "kind": "ordinal", "unit": "ms", "edges": [500, 1000, 2000]}
MEAN = {"name": "waiting", "domain": [WAIT], "queries": {"matrix": [[250, 750, 1500, 2500]], "labels": ["mean"]}}
BOTH = {
    "name": "both",
    "domain": [WAIT],
    "queries": {"matrix": [[250, 750, 1500, 2500], [0, 0, 1, 1]], "labels": ["mean", "slow"]},
}


def simulated(specification):
    plan = sa.plan(sa.workload(specification), epsilon=1)
    return sa.simulate(plan, np.tile([100.0, 700.0, 1500.0, 2500.0], 2000), seed=1)


def test_a_mean_of_milliseconds_is_printed_in_them():
    run = simulated(MEAN)
    truth = next(line for line in repr(run).splitlines() if line.startswith("mean"))
    assert "1,250 ms" in truth
    assert "%" not in truth
    assert repr(run).splitlines()[-1].endswith(" ms rms") or " ms rms" in repr(run)
    row = next(line for line in repr(run.estimate).splitlines() if line.startswith("mean"))
    assert row.count(" ms") == 5
    assert "%" not in row
    assert run.estimate.units == ["ms"]
    assert run.estimate.columns()["unit"] == ["ms"]
    svg = sa.chart(run.estimate).svg
    assert "answer in ms" in svg
    assert "share of users" not in svg


def test_shares_beside_a_mean_stay_shares():
    run = simulated(BOTH)
    mean, slow = (line for line in repr(run.estimate).splitlines() if line.startswith(("mean", "slow")))
    assert " ms" in mean
    assert "%" not in mean
    assert slow.count("%") == 5
    # No unit is that of an error over both.
    assert " ms rms" not in repr(run)
    assert "% rms" not in repr(run)


def test_shares_are_cut_and_the_unbiased_answers_are_not():
    plan = sa.plan(sa.workload({"name": "waiting", "domain": [WAIT], "queries": "prefix"}), epsilon=1)
    run = sa.simulate(plan, np.array([100.0, 100.0]), seed=1)
    found = run.estimate
    assert (found.uncut > 1).any() or (found.uncut < 0).any()
    for given in (found.values, found.intervals, found.band, found.population_intervals):
        assert given.min() >= 0
        assert given.max() <= 1
    np.testing.assert_array_equal(found.values, np.clip(found.uncut, 0, 1))
    np.testing.assert_array_equal(run.errors, found.uncut - run.truth)
    assert "−" not in repr(found)
    assert found.columns()["uncut"] == found.uncut.tolist()
    one = found.answer("range", "..500")[0]
    assert (one.value, one.uncut) == (found.values[0], found.uncut[0])


def test_a_plan_looks_for_a_coarser_question_once(monkeypatch):
    looked = []
    monkeypatch.setattr(plan_warnings, "coarser_question", lambda *given: looked.append(given))
    plan = sa.plan(sa.histogram(3000), epsilon=3, mechanism="randomized_response")
    looked.clear()
    assert plan.warnings() == plan.warnings() == plan.warnings(users=10)[:1]
    assert len(looked) == 1


def test_a_plan_says_in_print_what_speaks_against_it():
    warned = sa.plan(sa.workload({**MEAN, "queries": "prefix"}), epsilon=1, mechanism="randomized_response")
    assert repr(warned).count("warning") == len(warned.warnings())
    loose = sa.plan(sa.histogram(3000), epsilon=3, mechanism="randomized_response")
    (reason,) = loose.warnings()
    assert reason in repr(loose)
    assert reason in loose._repr_html_().replace("&#x27;", "'")


def test_the_error_of_a_plan_of_milliseconds_is_in_them():
    load = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
    plan = sa.plan(sa.workload({"name": "load", "domain": [load], "queries": {"load_ms": "mean"}}), 1, effort="quick")
    assert "at most 599.5 ms rms" in " ".join(repr(plan).split())
