"""Means that are asked of a finished estimate: those of a plan of numbers, and those that shares of bins tell."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.questions.linear import WorkloadError

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
STARS = {"name": "stars", "kind": "integers", "low": 1, "high": 5}
COUNTRY = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
USERS = 20_000


@cache
def simulated(asked: str) -> Any:
    rng = np.random.default_rng(4)
    country = rng.choice(["DE", "FR"], USERS, p=[0.7, 0.3]).tolist()
    if asked == "numbers":
        domain, queries = [COUNTRY, LOAD], {"load_ms": ["mean", {"share_above": 9000}]}
        loads = np.minimum(rng.exponential(9000, USERS), 60000).tolist()
        held = [{"country": c, "load_ms": x} for c, x in zip(country, loads, strict=True)]
    else:
        domain, queries = [COUNTRY, STARS | {"missing": True}], {"country": "histogram", "stars": "histogram"}
        stars = [None if each == 6 else each for each in rng.integers(1, 7, USERS).tolist()]
        held = [{"country": c, "stars": x} for c, x in zip(country, stars, strict=True)]
    plan = sa.plan(sa.workload({"name": "asked", "domain": domain, "queries": queries}), epsilon=4, effort="quick")
    return sa.simulate(plan, held, seed=2), held


@pytest.mark.parametrize("given", [None, "country=DE"])
def test_a_mean_of_rounded_numbers_is_that_of_the_estimate(given: str | None) -> None:
    run, _ = simulated("numbers")
    [found] = run.estimate.answer("mean", "load_ms", given=given)
    label = "mean of load_ms" + ("" if given is None else ", country: DE")
    row = run.estimate.labels.index(label)
    assert (found.unit, found.given) == ("ms", None if given is None else "country: DE")
    assert found.value == pytest.approx(run.estimate.values[row], rel=1e-6)
    assert found.interval == pytest.approx(tuple(run.estimate.intervals[row]), rel=2e-3)
    table = run.estimate.answer("mean", "load_ms", given=given).columns()
    assert (table["kind"], table["unit"], table["label"]) == (["mean"], ["ms"], [found.label])
    assert " ms" in repr(run.estimate.answer("mean", "load_ms", given=given))


@pytest.mark.parametrize("given", [None, "country=FR", "country=FR,stars=2..4"])
def test_shares_of_all_values_tell_the_mean_of_those_with_a_number(given: str | None) -> None:
    """Six standard errors: a false alarm of one seed in 10⁹, and a mean half a star off is none of them."""
    run, held = simulated("stars")
    [found] = run.estimate.answer("mean", "stars", given=given)
    inside = [each for each in held if each["stars"] is not None and (given is None or each["country"] == "FR")]
    inside = [each for each in inside if given is None or "stars" not in given or 2 <= each["stars"] <= 4]
    truth = np.mean([each["stars"] for each in inside])
    assert abs(found.value - truth) < 6 * found.standard_error
    assert abs(found.value - truth - 0.5) > 6 * found.standard_error
    assert found.interval[0] < found.value < found.interval[1]
    if given is not None:
        assert found.group == pytest.approx(len(inside) / USERS, abs=0.03)


@pytest.mark.parametrize(
    ("asked", "kind", "text", "given", "message"),
    [
        ("numbers", "mean", "size", None, "there are country, load_ms"),
        ("numbers", "mean", "country", None, "categorical and has no numbers"),
        ("numbers", "mean", "load_ms", "country=US", "DE, FR"),
        ("numbers", "marginal", "country:DE", None, "ask for a mean"),
        ("numbers", "quantile", "load_ms:0.5", None, "ask for a mean"),
        ("numbers", "mean", "load_ms", "load_ms=0..500", "no group of its numbers is told"),
        ("numbers", "mean", "load_ms", "load_ms=500", "no group of its numbers is told"),
        ("stars", "mean", "stars", "country=", "country"),
    ],
)
def test_what_has_no_mean_is_refused(asked: str, kind: Any, text: str, given: str | None, message: str) -> None:
    run, _ = simulated(asked)
    with pytest.raises((WorkloadError, EstimationError), match=message):
        run.estimate.answer(kind, text, given=given)


def test_grids_answer_means_beside_quantiles() -> None:
    # Few bins, and levels for the mean: levels for the worst of 1,024 bins, and their bound, take 13 s of a processor.
    asked = {"name": "load", "domain": [LOAD], "queries": {"load_ms": {"quantile": 0.5, "bins": 160}}}
    plan = sa.plan(sa.workload(asked), epsilon=4, mechanism="shifted_grids", objective="mean", effort="quick")
    run = sa.simulate(plan, np.linspace(0, 60000, 5000), seed=1)
    # A quantile is a bin, so that there is no error to print.
    assert "1 of 1 intervals hold the truth\n" in repr(run)
    estimate = run.estimate
    [mean] = estimate.answer("mean", "load_ms")
    # Bins are taken as their middles. Five standard errors: one false alarm in 10^6.
    assert abs(mean.uncut - 30_000) < 5 * mean.standard_error < 5_000
    [median] = estimate.table.cells("value_upper")
    assert 25_000 < median < 35_000
    few = sa.simulate(plan, np.linspace(0, 60000, 29), seed=1).estimate
    told = [" ".join(repr(one.answer("mean", "load_ms")).split()) for one in (few, estimate)]
    assert ["from 30 reports of these grids on" in each for each in told] == [True, False]
