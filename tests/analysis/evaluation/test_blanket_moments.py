"""What a random report of a shuffler adds to answers: its exact mean and variance, against drawn reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.randomizers import draw_blanket, in_alphabet
from sordino_analysis.vectorized.randomness import SeededRandomness

DRAWN = 1_500
# Of mechanisms whose answers take a millisecond a report and more.
FEWER_DRAWN = {"orbit_kernel": 400, "plane_grids": 400, "category_grids": 400, "plane_category_grids": 400}
# Of all answers of a plan together; seeds are fixed.
FALSE_ALARM = 1e-6


def _bins(name: str, count: int) -> dict[str, object]:
    return {"name": name, "kind": "ordinal", "edges": list(range(1, count))}


def _plane() -> Workload:
    return parse_specification({"name": "plane", "domain": [_bins("a", 6), _bins("b", 5)], "queries": "prefix"}).build()


def _categories() -> Workload:
    category = {"name": "c", "kind": "categorical", "labels": ["u", "v", "w"]}
    queries = {"a": "prefix", "c": "histogram"}
    return parse_specification({"name": "beside", "domain": [_bins("a", 8), category], "queries": queries}).build()


def _plane_and_categories() -> Workload:
    category = {"name": "c", "kind": "categorical", "labels": ["u", "v"]}
    queries = {"a": "prefix", "b": "prefix", "c": "histogram"}
    domain = [_bins("a", 4), category, _bins("b", 3)]
    return parse_specification({"name": "beside", "domain": domain, "queries": queries}).build()


def _marginals() -> Workload:
    flags = [{"name": f"flag{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(4)]
    return parse_specification({"name": "flags", "domain": flags, "queries": {"kind": "marginals", "width": 2}}).build()


SAMPLES = {
    "randomized_response": lambda: builtin("histogram", 5),
    "subset_selection": lambda: builtin("histogram", 12),
    "subset_mixture": lambda: builtin("histogram", 12),
    "coarsened_histogram": lambda: builtin("histogram", 40),
    "shifted_grids": lambda: builtin("prefix", 48),
    "plane_grids": _plane,
    "category_grids": _categories,
    "plane_category_grids": _plane_and_categories,
    "haar": lambda: builtin("prefix", 16),
    "factorization": lambda: builtin("prefix", 8),
    "orbit_kernel": _marginals,
}


def _contributions(mechanism: str, count: int) -> tuple[Floats, Floats, Floats]:
    """(Q, n) what drawn reports add to the answers, and the stated means and variances (Q,)."""
    request = PlanRequest(SAMPLES[mechanism](), PlanningOptions.of(epsilon=2, effort=Effort.QUICK))
    chosen = next(each for each in MECHANISMS if each.name == mechanism)
    proposal = chosen.propose(SharedWork(request), ignore_progress)
    randomizer, law = proposal.randomizer, answer_moments(proposal.randomizer, proposal.decoder, request.workload)
    payloads = draw_blanket(randomizer, count, SeededRandomness(7))
    assert in_alphabet(randomizer, payloads).all()
    different, places = np.unique(payloads, axis=0, return_inverse=True)
    drawn = [
        law.decode(mean_accumulator(randomizer, Aggregate(1, accumulate(randomizer, payload[None]))))
        for payload in different
    ]
    stated = law.blanket()
    return np.array(drawn)[places.ravel()].T, stated.mean, stated.variance


@pytest.mark.parametrize("mechanism", SAMPLES)
def test_drawn_reports_have_the_stated_mean_and_variance(mechanism: str) -> None:
    count = FEWER_DRAWN.get(mechanism, DRAWN)
    drawn, mean, variance = _contributions(mechanism, count)
    varying = variance > 1e-12
    assert varying.any()
    centred = drawn - mean[:, None]
    np.testing.assert_allclose(centred[~varying], 0, atol=1e-6)
    least = norm.isf(FALSE_ALARM / 2 / len(drawn))
    assert (np.abs(centred[varying].mean(axis=1)) <= least * np.sqrt(variance[varying] / count)).all()
    squares = centred[varying] ** 2
    error = np.sqrt(squares.var(axis=1) / count) + 1e-12
    assert (np.abs(squares.mean(axis=1) - variance[varying]) <= 1.3 * least * error).all()
