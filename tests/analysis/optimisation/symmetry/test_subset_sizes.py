"""The best mixture of subset sizes against the program over all kernels, and against a single size."""

from itertools import pairwise

import numpy as np
import pytest

from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.optimisation.symmetry.subset_sizes import (
    best_bound,
    best_mixture,
    decoder_values,
    inclusion_chances,
    information,
    recheck_subset_sizes,
)
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.errors import InvalidValue

OBJECTIVES = ("max", "mean")


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_is_the_optimum_over_all_kernels(exact_optimum, epsilon, objective):
    exact = exact_optimum(np.eye(6), epsilon, objective)
    assert best_mixture(6, epsilon, objective).value == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("types", [2, 3, 4, 6, 20, 300])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 7, 8, 10, 14, 18])
def test_neither_variance_of_the_mixture_is_above_the_bound(types, epsilon):
    """At the own type and at another one, by their definition."""
    best = best_mixture(types, epsilon, "max")
    own, other = inclusion_chances(types, epsilon, np.array(best.sizes, dtype=float))
    chances = np.array(best.chances)
    inside, outside = decoder_values(own, other, chances, best.own_weight)
    for held, mean in ((own, 1), (other, 0)):
        assert chances @ (held * inside + (1 - held) * outside) == pytest.approx(mean, abs=1e-12)
        variance = chances @ (held * inside**2 + (1 - held) * outside**2) - mean
        assert variance <= best.value * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "excess"), [("1", 0.01), ("2", 0.10), ("4", 0.25)])
def test_one_size_alone_is_above_it_for_the_worst_query(epsilon, excess):
    """The figures at k = 8: 1, 10 and 25 %."""
    single, mixture = (
        compile_plan(
            PlanRequest(
                builtin("histogram", 8), PlanningOptions.of(epsilon=epsilon, objective="max", mechanism=mechanism)
            )
        ).analyst.figures
        for mechanism in ("subset_selection", "subset_mixture")
    )
    assert single.max_variance / mixture.max_variance - 1 == pytest.approx(excess, abs=0.006)


@pytest.mark.parametrize("types", [3, 8, 50, 1000])
@pytest.mark.parametrize("epsilon", ["0.25", "1", "4", "8"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_planner_attains_the_bound_on_histograms(types, epsilon, objective):
    summary = compile_plan(
        PlanRequest(builtin("histogram", types), PlanningOptions.of(epsilon=epsilon, objective=objective))
    ).summary.model_dump()
    assert 1.0 <= summary[f"ratio_{objective}"] <= 1.0 + 1e-6
    assert summary["bias_bound"] < 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_any_weight_gives_a_bound(objective):
    value = best_mixture(20, 1.5, objective).value
    for weight in np.linspace(0.001, 0.999, 200):
        assert recheck_subset_sizes(20, 1.5, weight) <= best_mixture(20, 1.5, "max").value
    assert recheck_subset_sizes(20, 1.5, best_mixture(20, 1.5, objective).own_weight) == value
    for weight in (0.0, 1.0, -0.5, np.nan):
        with pytest.raises(InvalidValue):
            recheck_subset_sizes(20, 1.5, weight)


def test_variances_without_forming_the_matrix_are_those_of_every_row():
    """A product of histograms, its indicator rows, and the same queries as a matrix."""
    domain = [{"name": n, "kind": "categorical", "labels": list("abc")} for n in ("one", "two")]
    asked = parse_specification({"name": "both", "domain": domain, "queries": "histogram"}).build()
    plan = compile_plan(PlanRequest(asked, PlanningOptions.of(epsilon=2, objective="max", mechanism="subset_mixture")))
    other = parse_specification(
        {"name": "both", "domain": domain, "queries": {"matrix": [[1.0, 1, 0, 0, 0, 1, 0, 0, 0], [0.0] * 8 + [1]]}}
    ).build()
    decoder = plan.analyst.decoder
    fast = answer_moments(plan.device.randomizer, decoder, asked)
    slow = answer_moments(plan.device.randomizer, decoder, _as_matrix(asked))
    assert fast.type_variances() == pytest.approx(slow.type_variances(), rel=1e-9)
    for name in ("variance", "type_variance"):
        assert getattr(fast.profile(), name) == pytest.approx(getattr(slow.profile(), name), rel=1e-9)
    histogram = np.random.default_rng(0).dirichlet(np.ones(9))
    assert fast.mixed_variances(histogram) == pytest.approx(slow.mixed_variances(histogram), rel=1e-9)
    root = slow.covariance_root(histogram)
    assert (root**2).sum(axis=1) == pytest.approx(slow.mixed_variances(histogram), rel=1e-7)
    assert answer_moments(plan.device.randomizer, decoder, other).profile().bias.max() < 1e-12


def _as_matrix(asked):
    matrix = MatrixQueries(array_of(asked.operator.dense(), "<f8"), tuple(asked.labels()))
    return build_workload(asked.domain, matrix, asked.name)


@pytest.mark.parametrize("types", [2, 3, 4, 7, 20, 333])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2, 8, 14])
def test_the_best_size_is_that_of_a_scan_over_all(types, epsilon):
    sizes = np.arange(1.0, types)
    own, other = inclusion_chances(types, epsilon, sizes)
    for weight in (1 / types, 1e-6, 0.1, 0.5, 0.9):
        scanned = 1 / information(own, other, weight).max() - weight * (1 - weight)
        assert recheck_subset_sizes(types, epsilon, weight) == pytest.approx(max(0.0, scanned), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(("types", "worst"), [(1000, 3.909371582), (10_000, 3.916864643), (2**64, 3.917698)])
def test_bounds_at_any_number_of_types(types, worst):
    assert best_bound(types, 1, "max").value == pytest.approx(worst, abs=1e-6 if types > 10_000 else 5e-10)


@pytest.mark.parametrize("epsilon", [0.25, 1, 4])
def test_bounds_approach_their_closed_forms_from_below(epsilon):
    limits = {"max": 0.25 / np.sinh(epsilon / 4) ** 2, "mean": 1 / np.sinh(epsilon / 2) ** 2}
    for objective, limit in limits.items():
        values = [best_bound(2**bits, epsilon, objective).value for bits in (4, 8, 16, 24, 40, 64)]
        assert all(a <= b * (1 + 1e-11) for a, b in pairwise(values))
        assert values[-1] == pytest.approx(limit, rel=1e-9)
