"""How many numbers of known users are clipped, and when that is worth a warning."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.kinds.drawn_rounds import drawn_estimate
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear.numbers.clipping import clipped_numbers
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Categorical, Domain, Integers, Number

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}


def test_numbers_of_every_form_are_counted_beyond_the_end_they_are_beyond() -> None:
    values = [
        10**400,
        -(10**400),
        Fraction(121, 2),
        Decimal("60.5"),
        "61",
        float("inf"),
        60,
        0,
        None,
        "x",
        float("nan"),
    ]
    [found] = clipped_numbers(Domain((Number("load", 0.0, 60.0, unit="s"),)), values)
    assert (found.below, found.above) == (1 / 11, 5 / 11)
    assert str(found) == "load: 9.1 % below 0 s and 45.5 % above 60 s"
    assert [said.partition(":")[0] for said in found.warnings] == [
        "9.1 % of the users have load below 0 s",
        "45.5 % of the users have load above 60 s",
    ]


def test_only_numbers_that_are_clipped_are_counted() -> None:
    """Whole numbers with `other` and categories are not; up to 1 % is no warning."""
    domain = Domain((Categorical("c", ("a",)), Integers("n", 0, 9), Integers("o", 0, 9, other=True)))
    [found] = clipped_numbers(domain, [{"c": "a", "n": 11 if each == 0 else 5, "o": 99} for each in range(100)])
    assert (found.attribute, found.below, found.above, found.warnings) == ("n", 0.0, 0.01, ())


def test_a_simulation_says_how_many_are_clipped() -> None:
    plan = sa.plan(sa.workload({"name": "load", "domain": [LOAD], "queries": {"load_ms": "mean"}}), 1, effort="quick")
    values = np.r_[np.full(970, 100.0), np.full(30, 70000.0)]
    run = sa.simulate(plan, values, seed=1, strict=False)
    assert [each.above for each in run.clipped] == [0.03]
    assert "clipped: load_ms: 0.0 % below 0 ms and 3.0 % above 60,000 ms" in str(run)
    assert "Plan with a wider range" in str(run)
    assert "clipped" not in str(sa.simulate(plan, values[:970], seed=1))


@cache
def planned(low: float) -> FinishedPlan:
    kind, domain = kind_named("numbers"), [LOAD | {"low": low}]
    asked = kind.parse({"name": "load", "domain": domain, "queries": {"load_ms": ["mean", "clipped"]}})
    return kind.request_class().of(asked, PlanningOptions.of(epsilon=4, effort="quick")).compile(lambda step: None)


@pytest.mark.parametrize(
    ("low", "above", "below", "warned"),
    [(-10.0, 0.05, 0.0, ["high"]), (-10.0, 0.0, 0.05, ["low"]), (0.0, 0.0, 0.05, []), (-10.0, 0.01, 0.01, [])],
)
def test_an_estimate_warns_of_what_is_surely_clipped(low: float, above: float, below: float, warned: list[str]) -> None:
    """Lower ends of 95 % intervals: at a share of 1 % one in 40 seeds warns of either end."""
    kind, users = kind_named("numbers"), 20_000
    counts = [int(users * below), int(users * above)]
    values = [*[-99.0] * counts[0], *[7e4] * counts[1], *[9000.0] * (users - sum(counts))]
    estimate = drawn_estimate(kind, planned(low), values, SeededRandomness(1))
    said = [each for each in estimate.extras.warnings if "Plan with a wider range" in each]
    assert ["high" if "60,000 ms or above" in each else "low" for each in said] == warned
    assert not any("would tell how many" in note for note in kind.notes(estimate))
