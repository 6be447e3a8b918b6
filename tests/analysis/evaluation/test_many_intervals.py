"""Figures of all ranges by their lengths against the list of them."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation import many_intervals
from sordino_analysis.evaluation.accumulator_moments import response_moments, selection_moments
from sordino_analysis.evaluation.many_intervals import ManyIntervals
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.least_variances import least_of_equal_types
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.randomized_response import inverse_decoder
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import RandomizedResponse, SubsetSelection


def ranges(bins: int, **member: bool) -> Workload:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": bins - 1, **member}
    return parse_specification({"name": "delays", "domain": [attribute], "queries": "ranges"}).build()


@pytest.mark.parametrize("member", [{}, {"missing": True}])
@pytest.mark.parametrize("sets", [1, 7])
def test_figures_by_lengths_are_those_of_every_range(
    monkeypatch: pytest.MonkeyPatch, member: dict[str, bool], sets: int
) -> None:
    workload, guarantee = ranges(40, **member), PureEpsilon.of(1.5)
    if sets == 1:
        randomizer = RandomizedResponse.for_guarantee(workload.size, guarantee)
        decoder = inverse_decoder(response_moments(randomizer))
    else:
        randomizer = SubsetSelection.for_guarantee(workload.size, sets, guarantee)
        decoder = inverse_decoder(selection_moments(randomizer))
    whole = answer_moments(randomizer, decoder, workload).profile()
    dense = answer_moments(randomizer, decoder, workload).type_variances()
    np.testing.assert_allclose(whole.type_variance, dense.mean(axis=0), rtol=1e-9)
    monkeypatch.setattr(many_intervals, "MOST_LISTED_RANGES", 100)
    law = answer_moments(randomizer, decoder, workload)
    assert isinstance(law, ManyIntervals)
    profile = law.profile()
    np.testing.assert_allclose(profile.type_variance, dense.mean(axis=0), rtol=1e-9)
    assert profile.figures().max_variance == pytest.approx(dense.max(), rel=1e-9)


@pytest.mark.parametrize("kind", ["ranges", "prefix"])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_least_variance_of_intervals_is_that_of_their_list(kind: str, objective: str) -> None:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": 39, "missing": True}
    workload = parse_specification({"name": "delays", "domain": [attribute], "queries": kind}).build()
    even, operator = np.full(41, 1 / 41), workload.operator
    spreads = operator.squared_matvec(even) - operator.matvec(even) ** 2
    spread = spreads.max() if objective == "max" else spreads.mean()
    work = SharedWork(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, objective=objective)))
    assert least_of_equal_types(work) == pytest.approx(spread * (40 / np.sinh(0.5) ** 2 - 1))
