"""Plans for a handful of types are at the exact optimum, whatever the scales of the queries."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.extreme_rows import ExtremeRowsMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Effort

UNEVEN = [[-10.5, 7, 35.25, 90], [0, -1, 1, 0.3], [2, 2, 2, 2], [1, 1, 0, 0]]
SINGLE = [[-1.5, 0, 0.25, 3, 9]]
# What a plan may be above the optimum; the cone program of the truth leaves 1e-5 and less below it.
NEAR, BELOW = 1.005, 1 - 1e-4


def request_of(matrix, epsilon, objective, **options):
    labels = [str(cell) for cell in range(len(matrix[0]))]
    domain = [{"name": "c", "kind": "categorical", "labels": labels}]
    written = {"name": "w", "domain": domain, "queries": {"matrix": np.asarray(matrix, dtype=float).tolist()}}
    terms = {"epsilon": epsilon, "objective": objective, "effort": Effort.QUICK} | options
    return PlanRequest(parse_specification(written).build(), PlanningOptions.of(**terms))


def varying(matrix):
    rows = np.asarray(matrix, dtype=float)
    return rows[np.ptp(rows, axis=1) > 0]


def random_matrix(rng):
    """Queries of like scales, of uneven ones, or small integers with types of uneven ones; 2 to 6 types."""
    types, queries = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    form = rng.integers(3)
    if form == 2:
        matrix = rng.integers(-2, 3, size=(queries, types)) * rng.choice([1.0, 1.0, 10.0], size=(1, types))
    else:
        scales = rng.choice([0.1, 1, 10, 100], size=(queries, 1)) if form == 1 else 1.0
        matrix = np.round(rng.normal(size=(queries, types)) * scales, 2)
    return matrix if (np.ptp(matrix, axis=1) > 0).any() else random_matrix(rng)


def of_objective(figures, objective):
    return figures.max_variance if objective == "max" else figures.mean_variance


@pytest.mark.parametrize(
    ("matrix", "objective"),
    [
        (UNEVEN, "max"),
        (SINGLE, "mean"),
        pytest.param(UNEVEN, "mean", marks=pytest.mark.slow),
        pytest.param(SINGLE, "max", marks=pytest.mark.slow),
    ],
)
def test_a_plan_for_queries_of_uneven_scale_is_at_the_optimum(exact_optimum, matrix, objective):
    plan = compile_plan(request_of(matrix, "2", objective))
    exact = exact_optimum(varying(matrix), 2.0, objective)
    assert exact * BELOW <= of_objective(plan.analyst.figures, objective) <= exact * NEAR
    assert plan.analyst.figures.bias_bound < 1e-9


@pytest.mark.parametrize("matrix", [UNEVEN, SINGLE])
def test_column_generation_finds_the_worst_type_of_uneven_queries(exact_optimum, matrix):
    """Without the list of all rows; type weights that move step by step ended 6 to 8 % above."""
    plan = compile_plan(request_of(matrix, "2", "mean", mechanism="column_generation"))
    assert plan.analyst.figures.mean_variance <= exact_optimum(varying(matrix), 2.0, "mean") * NEAR


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4"])
def test_one_query_is_near_the_optimum_by_its_linear_program(exact_optimum, epsilon):
    for objective in ("max", "mean"):
        plan = compile_plan(request_of(SINGLE, epsilon, objective, mechanism="query_kernel"))
        exact = exact_optimum(varying(SINGLE), float(epsilon), objective)
        assert exact * BELOW <= of_objective(plan.analyst.figures, objective) <= exact * NEAR


def test_one_query_over_many_types_is_better_than_the_search_for_many_queries():
    """A square over forty bins, beside a constant: the joint search had .48 for the mean, and 1.6 for the maximum."""
    rows = [[1.0] * 40, (np.linspace(0, 1, 40) ** 2).tolist()]
    plan = compile_plan(request_of(rows, "2", "max", mechanism="query_kernel"))
    assert plan.analyst.figures.max_variance < 0.22
    assert plan.analyst.figures.bias_bound < 1e-9


def check(rng, exact_optimum, epsilon, objective):
    matrix = random_matrix(rng)
    request = request_of(matrix, epsilon, objective)
    figures = ExtremeRowsMechanism().propose(SharedWork(request), lambda *told: None).law(request).profile().figures()
    exact = exact_optimum(varying(matrix), float(epsilon), objective)
    assert exact * BELOW <= of_objective(figures, objective) <= exact * NEAR, (matrix, epsilon, objective)
    assert figures.bias_bound < 1e-8


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_random_queries_are_at_the_optimum(exact_optimum, epsilon, objective):
    rng = np.random.default_rng(7)
    for _ in range(4):
        check(rng, exact_optimum, epsilon, objective)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_two_hundred_random_workloads_are_at_the_optimum(exact_optimum, epsilon, objective):
    """The most was .05 % above, most of them less than a part in 10^5."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        check(rng, exact_optimum, epsilon, objective)


def test_what_extreme_rows_are_not_for_is_refused_in_words():
    rng = np.random.default_rng(1)
    for matrix, objective, reason in (
        (rng.normal(size=(3, 10)), "mean", "at most 9"),
        (rng.normal(size=(200, 6)), "max", "12800 cones"),
    ):
        with pytest.raises(PlanError, match=reason):
            compile_plan(request_of(matrix, "1", objective, mechanism="extreme_rows"))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["marginals", "parities"])
def test_one_setting_of_two_values_is_randomized_response(kind, epsilon):
    """A row that holds both cells of a marginal tells nothing, and ended the planner in an error."""
    domain = [{"name": "dark", "kind": "categorical", "labels": ["off", "on"]}]
    asked = parse_specification({"name": "w", "domain": domain, "queries": {"kind": kind, "width": 1}}).build()
    found = {}
    for objective in ("max", "mean"):
        plan = compile_plan(PlanRequest(asked, PlanningOptions.of(epsilon=epsilon, objective=objective)))
        assert plan.analyst.mechanism == "randomized_response"
        found[objective] = plan.summary.max_variance
    assert found["max"] == pytest.approx(found["mean"])
    ratio = np.exp(epsilon)
    scale = 1 if kind == "marginals" else 4
    assert found["max"] == pytest.approx(scale * ratio / (ratio - 1) ** 2, rel=1e-6)


@pytest.mark.parametrize("kind", ["marginals", "parities"])
@pytest.mark.parametrize("mechanism", [None, "orbit_kernel"])
def test_one_attribute_of_two_members_is_planned_as_any_other(kind: str, mechanism: str | None) -> None:
    """No row of characters is left that holds all cells or none."""
    switch = {"name": "dark", "kind": "categorical", "labels": ["off", "on"]}
    asked = {"name": "one", "domain": [switch], "queries": {"kind": kind, "width": 1}}
    for epsilon in (0.5, 1, 4):
        options = PlanningOptions.of(epsilon=epsilon, mechanism=mechanism)
        plan = compile_plan(PlanRequest(parse_specification(asked).build(), options))
        # Randomized response: a quarter of 1/sinh²(ε/2) of a share, four times as much of a sign.
        least = (1 if kind == "parities" else 0.25) / np.sinh(epsilon / 2) ** 2
        assert plan.summary.max_variance == pytest.approx(least, rel=1e-3)
