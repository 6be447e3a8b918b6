"""Rows for parities and marginals: the figures promised, exactness, and what a wrong decoder would show."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms import orbit_kernel as candidate
from sordino_analysis.mechanisms.orbit_kernel import orbit_kernel, unbiased_slopes
from sordino_analysis.optimisation.symmetry import worst_case
from sordino_analysis.optimisation.symmetry.orbit_design import design_rows
from sordino_analysis.optimisation.symmetry.orbit_rows import row_shape, row_shapes
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum, orbit_weights
from sordino_analysis.optimisation.symmetry.tuning import WORST_CASE
from sordino_analysis.optimisation.symmetry.worst_case import worst_case_design
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# Values of ε and pairs of queries and objective whose like `make test` covers.
SLOW = pytest.mark.slow
PARITIES = {"kind": "parities", "width": 3}
MARGINALS = {"kind": "marginals", "width": 3, "exactly": True}


def plan(workload, epsilon, objective, **rest):
    return compile_plan(
        PlanRequest(
            workload, PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism="orbit_kernel", **rest)
        )
    )


@pytest.mark.parametrize("epsilon", [pytest.param("0.25", marks=SLOW), pytest.param("0.5", marks=SLOW), "1"])
@pytest.mark.parametrize(
    ("queries", "objective", "ratio"),
    [
        pytest.param(PARITIES, "max", 1.03, marks=SLOW),
        (PARITIES, "mean", 1.03),
        pytest.param(MARGINALS, "mean", 1.03, marks=SLOW),
        (MARGINALS, "max", 1.10),
    ],
)
def test_width_three_on_eight_attributes_is_near_the_bound(workload_of, epsilon, queries, objective, ratio):
    found = plan(workload_of((2,) * 8, queries), epsilon, objective)
    summary = found.summary.model_dump()
    assert 1.0 <= summary[f"ratio_{objective}"] <= ratio
    assert summary["bias_bound"] <= 1e-9 * math.sqrt(summary["max_variance"])
    assert summary["device_bytes"] < 16_384


SMALL = [
    ((2, 2, 2), {"kind": "parities", "width": 2}),
    ((2, 2, 2), {"kind": "marginals", "width": 2}),
    ((3, 2), {"kind": "marginals", "width": 2}),
]


@pytest.mark.parametrize(("shape", "queries"), SMALL)
@pytest.mark.parametrize("epsilon", [*(pytest.param(epsilon, marks=SLOW) for epsilon in (0.5, 1, 2)), 4])
@pytest.mark.parametrize(("objective", "share"), [("mean", 1.01), ("max", 1.12)])
def test_small_cases_are_near_the_optimum_over_all_kernels(
    workload_of, exact_optimum, shape, queries, epsilon, objective, share
):
    workload = workload_of(shape, queries)
    exact = exact_optimum(workload.operator.dense(), epsilon, objective)
    figures = plan(workload, epsilon, objective).analyst.figures
    found = figures.max_variance if objective == "max" else figures.mean_variance
    assert exact * (1 - 1e-5) <= found <= share * exact


@pytest.mark.parametrize("shape", [(2,) * 5, (3, 4, 3, 2), (5, 5, 5)])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_mean_variance_is_that_of_the_eigenvalues(workload_of, shape, objective):
    operator = (workload := workload_of(shape, {"kind": "marginals", "width": 2})).operator
    design = design_rows(operator, 1.0, objective, seed=0)
    kernel = orbit_kernel(design.rows, design.chances, operator, PureEpsilon.of(1))
    information = RowSpectrum(kernel).information.sum(axis=0)
    by_hand = design.chances @ [orbit_weights(row, math.e, operator.characters) for row in design.rows]
    assert information == pytest.approx(by_hand / operator.characters.orbit_sizes, rel=1e-9)
    needs = query_fourier_weights(operator)
    expected = needs.shares @ (needs.by_orbit @ (1 / information - 1))
    profile = answer_moments(kernel, unbiased_slopes(kernel, operator), workload).profile()
    assert profile.type_variance == pytest.approx(expected, rel=1e-9)
    assert len(design.rows) <= 1 + len(information) + len(operator.blocks)


def test_profiles_of_a_shape_are_those_of_each_row(workload_of):
    characters = workload_of((3, 2, 2), {"kind": "marginals", "width": 2}).operator.characters
    for shape in row_shapes(characters):
        sets = np.random.default_rng(0).random((6, shape.cells)) < 0.5
        sets[:, :2] = [True, False]
        profiles = shape.profiles(sets, 1.5, len(characters.orbits))
        each = [orbit_weights(members.reshape(shape.sizes), math.exp(1.5), characters) for members in sets]
        assert profiles == pytest.approx(np.array(each))


def test_searched_sets_cannot_be_improved_by_a_flip(workload_of):
    characters = workload_of((2,) * 6, {"kind": "marginals", "width": 2}).operator.characters
    shape = max(row_shapes(characters), key=lambda shape: shape.cells)
    prices = np.array([1.0, 3.0])
    sets = shape.most_informative_sets(prices, 2.0, np.random.default_rng(0))
    value = shape.profiles(sets, 2.0, 2) @ prices
    for cell in range(shape.cells):
        flipped = sets.copy()
        flipped[:, cell] ^= True
        kept = flipped.any(axis=1) & ~flipped.all(axis=1)
        assert (shape.profiles(flipped[kept], 2.0, 2) @ prices <= value[kept] * (1 + 1e-9)).all()


def test_the_worst_type_is_better_than_with_one_slope_an_orbit(workload_of):
    workload = workload_of((3, 4, 3, 2), {"kind": "marginals", "width": 2})
    one_slope = plan(workload, 2, "mean").analyst.figures
    assert plan(workload, 2, "max").analyst.figures.max_variance < 0.6 * one_slope.max_variance


@pytest.mark.parametrize(("epsilon", "share"), [(2, 0.95), (4, 0.9)])
def test_telling_overlaps_apart_helps_the_worst_type(workload_of, epsilon, share):
    operator = workload_of((2,) * 4, {"kind": "marginals", "width": 2}).operator
    start = design_rows(operator, epsilon, "max", seed=0)
    whole, apart = (
        worst_case_design(operator, epsilon, start, seed=0, by_overlap=by_overlap) for by_overlap in (False, True)
    )
    assert apart.variance < share * whole.variance
    assert whole.slopes.shape[2] == 1
    assert apart.slopes.shape[2] == 3


def test_pairs_of_cells_help_the_worst_type_at_a_large_epsilon(workload_of, monkeypatch):
    operator = workload_of((3, 3, 3), {"kind": "marginals", "width": 2}).operator
    start, found = design_rows(operator, 4, "max", seed=0), []
    for cells in (0, 2):
        monkeypatch.setattr(worst_case, "WORST_CASE", replace(WORST_CASE, cells_per_pair=cells))
        found.append(worst_case_design(operator, 4, start, seed=0, by_overlap=True).variance)
    assert found[1] < 0.99 * found[0]


def test_pairs_differ_in_one_slot_and_more(workload_of):
    characters = workload_of((3, 2, 2), {"kind": "marginals", "width": 2}).operator.characters
    pairs = row_shape((2, 2, 3), characters).pairs().reshape(3, 2, 2, 3)
    assert [np.argwhere(pair).tolist() for pair in pairs] == [
        [[0, 0, 0], others] for others in ([1, 0, 0], [1, 1, 0], [1, 1, 1])
    ]


@pytest.mark.parametrize(("epsilon", "overlaps"), [(1, False), (2, True)])
def test_the_worst_type_is_as_bad_as_the_game_says(workload_of, epsilon, overlaps):
    workload = workload_of((2, 3, 3), {"kind": "marginals", "width": 2})
    start = design_rows(workload.operator, epsilon, "max", seed=0)
    design = worst_case_design(workload.operator, epsilon, start, seed=0, by_overlap=overlaps)
    found = plan(workload, epsilon, "max")
    assert found.device.randomizer.overlaps is overlaps
    assert found.analyst.figures.max_variance == pytest.approx(design.variance, rel=1e-6)
    assert found.analyst.figures.bias_bound <= 1e-9


def test_sums_by_overlap_that_are_too_many_are_not_kept(workload_of, monkeypatch):
    workload = workload_of((2,) * 3, {"kind": "marginals", "width": 2})
    monkeypatch.setattr(candidate, "MAX_SUMS", 20)
    assert not plan(workload, 2, "max").device.randomizer.overlaps


def test_a_game_that_is_too_large_leaves_the_plan_for_the_mean(workload_of, monkeypatch):
    workload = workload_of((2,) * 3, {"kind": "marginals", "width": 2})
    monkeypatch.setattr(worst_case, "_MOST_MOMENTS", 0)
    found = plan(workload, 2, "max").analyst.figures
    assert found.max_variance == pytest.approx(found.mean_variance, rel=1)


def test_twenty_attributes_are_within_reach(workload_of):
    found = plan(workload_of((2,) * 20, {"kind": "marginals", "width": 2, "exactly": True}), 1, "mean")
    assert found.summary.ratio_mean <= 1.03
    assert len(found.device.content) < 8_192


def test_the_same_request_gives_the_same_plan(workload_of):
    workload = workload_of((2,) * 5, {"kind": "marginals", "width": 2})
    first, second = (plan(workload, 2, "max", seed=3) for _ in range(2))
    assert first.analyst.content == second.analyst.content


@pytest.mark.parametrize(
    ("shape", "queries", "objective"),
    [
        ((2,) * 4, PARITIES, "max"),
        ((3, 3, 2), {"kind": "marginals", "width": 2}, "mean"),
        pytest.param((2,) * 4, PARITIES, "mean", marks=SLOW),
        pytest.param((3, 3, 2), {"kind": "marginals", "width": 2}, "max", marks=SLOW),
    ],
)
def test_an_audit_makes_every_figure_again(workload_of, shape, queries, objective):
    found = plan(workload_of(shape, queries), 2, objective)
    assert all(check.holds for check in audit_plan(found.device, found.analyst))


def test_what_is_not_symmetric_is_not_for_orbits(workload_of):
    with pytest.raises(PlanError, match="not parities or marginals"):
        plan(workload_of((2, 2), "histogram"), 1, "max")
    kernel = plan(workload_of((2, 2), {"kind": "parities", "width": 1}), 1, "max")
    with pytest.raises(InvalidValue, match="the kernel is for queries about 1"):
        answer_moments(kernel.device.randomizer, kernel.analyst.decoder, workload_of((2, 2), PARITIES | {"width": 2}))
