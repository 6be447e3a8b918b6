"""Chances of families: optimal where they are known in closed form, in steps that never make it worse."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.mechanisms import drawn_families
from sordino_analysis.mechanisms.drawn_families import drawn_kernel
from sordino_analysis.mechanisms.haar import HaarMechanism
from sordino_analysis.mechanisms.hierarchy import HierarchyMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.set_families import SetFamily, most_informative_family
from sordino_analysis.mechanisms.tuning import DRAWN_FAMILIES
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.vectorized.kernels import kernel_table


def quiet(*told):
    pass


def request_of(rows, epsilon, objective):
    line = {"name": "v", "kind": "ordinal", "edges": [float(edge) for edge in range(1, len(rows[0]))]}
    specification = {"name": "rows", "domain": [line], "queries": {"matrix": np.asarray(rows).tolist()}}
    return PlanRequest(
        parse_specification(specification).build(), PlanningOptions.of(epsilon=epsilon, objective=objective)
    )


def two_bits():
    """Families over 4 types that each tell one bit: of the pair, or of the place in it."""
    first = np.array([[True, True, False, False], [False, False, True, True]])
    second = np.array([[True, False, True, False], [False, True, False, True]])
    return [SetFamily(first), SetFamily(second)]


@pytest.mark.parametrize("weight", [1.0, 3.0, 10.0])
def test_two_bits_get_chances_in_the_ratio_of_their_queries(weight):
    """Variances are (1/p − t²)/t² and w²(1/(1 − p) − t²)/t² for t = tanh(ε/2): so p : 1 − p = 1 : w for the mean."""
    rows = np.array([[1, 1, -1, -1], [weight, -weight, weight, -weight]], dtype=float)
    request = request_of(rows, "1", "mean")
    proposal = drawn_kernel(two_bits(), SharedWork(request), quiet)
    table = kernel_table(proposal.randomizer)[:4] / 2.0**60
    pairs = np.array([abs(row[0] - row[1]) < 1e-12 for row in table])
    assert table[pairs].mean(axis=1).sum() == pytest.approx(1 / (1 + weight), rel=1e-4)
    t = np.tanh(0.5)
    expected = ((1 + weight) ** 2 / t**2 - 1 - weight**2) / 2
    assert proposal.variance(request) == pytest.approx(expected, rel=1e-5)


def test_the_worst_of_two_bits_decides_for_the_maximum():
    """1/p − 1 with t² left in: p solves 1/p − t² = w²(1/(1 − p) − t²)."""
    request = request_of([[1, 1, -1, -1], [2, -2, 2, -2]], "1", "max")
    t2 = np.tanh(0.5) ** 2
    shares = np.linspace(0.01, 0.99, 100_001)
    least = np.maximum(1 / shares - t2, 4 * (1 / (1 - shares) - t2)).min() / t2
    proposal = drawn_kernel(two_bits(), SharedWork(request), quiet)
    assert proposal.variance(request) == pytest.approx(least, rel=1e-2)
    assert proposal.variance(request) >= least * (1 - 1e-6)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_more_passes_are_not_worse_and_the_first_ones_gain_most(monkeypatch, objective):
    request = PlanRequest(builtin("prefix", 24), PlanningOptions.of(epsilon=1, objective=objective))
    values = []
    for passes in (1, 4, 40):
        limits = replace(DRAWN_FAMILIES, fewest_passes=1, most_passes=passes)
        monkeypatch.setattr(drawn_families, "DRAWN_FAMILIES", limits)
        values.append(HierarchyMechanism().propose(SharedWork(request), quiet).variance(request))
    assert values[0] > 1.05 * values[1] > 1.05 * values[2]


def test_queries_that_are_too_many_for_the_worst_one_are_counted_through_their_mean(monkeypatch):
    request = PlanRequest(builtin("ranges", 20), PlanningOptions.of(epsilon=1, objective="max"))
    exact = HaarMechanism().propose(SharedWork(request), quiet).variance(request)
    monkeypatch.setattr(drawn_families, "DRAWN_FAMILIES", replace(DRAWN_FAMILIES, operations=0.0))
    hurried = HaarMechanism().propose(SharedWork(request), quiet).variance(request)
    assert exact < hurried < 1.3 * exact


def test_a_family_that_nobody_needs_keeps_the_histogram_decodable():
    """Pairs are asked about and nothing finer: the single types keep a ten-thousandth."""
    request = request_of(np.kron(np.eye(4), [1, 1]), "1", "mean")
    families = [most_informative_family(4, 1.0).over(np.arange(8) // 2), most_informative_family(8, 1.0)]
    proposal = drawn_kernel(families, SharedWork(request), quiet)
    assert proposal.law(request).profile().figures().bias_bound < 1e-9
    alone = PlanRequest(builtin("histogram", 4), PlanningOptions.of(epsilon=1, objective="mean"))
    of_pairs = drawn_kernel([most_informative_family(4, 1.0)], SharedWork(alone), quiet)
    assert proposal.variance(request) < 1.001 * of_pairs.variance(alone)


def test_the_passed_deadline_leaves_a_valid_mechanism():
    request = PlanRequest(builtin("prefix", 24), PlanningOptions.of(epsilon=1, objective="mean", time_limit=1e-9))
    work = SharedWork(request)
    assert work.deadline.passed()
    proposal = HierarchyMechanism().propose(work, quiet)
    assert proposal.law(request).profile().figures().bias_bound < 1e-9
