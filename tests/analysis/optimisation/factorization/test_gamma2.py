"""The first-order solver: exact factors, certified gaps, and agreement with a general cone solver."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from benchmarks.planning.semidefinite import solve_semidefinite
from sordino_analysis.optimisation.factorization import FactorizationError, check_certificate, factorize

CASES = list(itertools.product(("max", "mean"), (True, False)))


@pytest.mark.parametrize(("objective", "centred"), CASES)
def test_awkward_matrices_are_factorized_exactly_to_the_gap(awkward, objective, centred):
    for name, matrix in awkward.items():
        found = factorize(matrix, objective, 0.01, centred)
        check_certificate(matrix, found)
        assert found.gap <= 0.0101, name
        tolerance = 1e-9 * np.abs(matrix).max(axis=1, keepdims=True)
        assert (np.abs(found.product() - matrix) <= tolerance).all(), name


@pytest.mark.parametrize(("objective", "centred"), CASES)
def test_the_enclosure_holds_the_value_of_the_semidefinite_program(prefix, objective, centred):
    rng = np.random.default_rng(3)
    for matrix in (prefix(8), rng.normal(size=(5, 7)), rng.integers(0, 2, size=(9, 4)).astype(float)):
        found = factorize(matrix, objective, 1e-3, centred, max_iterations=5000)
        reference = solve_semidefinite(matrix, objective, centred)
        assert found.gap <= 1.01e-3
        # The reference encloses the value within 1e-6 by its own certificate, so the two must overlap.
        assert reference.upper <= reference.lower * (1 + 1e-6)
        assert found.lower <= reference.upper * (1 + 1e-9)
        assert found.upper >= reference.lower * (1 - 1e-9)


@settings(max_examples=80, deadline=None)
@given(
    arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(-3, 3).map(float)),
    st.sampled_from(CASES),
)
def test_every_matrix_of_small_integers_has_a_certificate_or_nothing_to_factorize(matrix, case):
    objective, centred = case
    trivial = (matrix == matrix[:, :1]).all() if centred else not matrix.any()
    if trivial:
        with pytest.raises(FactorizationError, match="constant"):
            factorize(matrix, objective, 0.05, centred)
        return
    found = factorize(matrix, objective, 0.05, centred, max_iterations=2000)
    check_certificate(matrix, found)
    assert found.gap <= 0.0501


@pytest.mark.parametrize(("objective", "expected"), [("max", 1.8349), ("mean", 1.8322)])
def test_centring_prefix_128_costs_what_is_known(prefix, objective, expected):
    found = factorize(prefix(128), objective, 1e-3)
    assert found.lower == pytest.approx(expected, rel=1e-3)
    plain = factorize(prefix(128), objective, 1e-3, centred=False)
    assert (plain.upper / found.upper) ** 2 == pytest.approx(1.59, abs=0.02)


def test_constant_rows_cost_nothing_and_are_answered_exactly(prefix):
    bare = factorize(prefix(12), "mean", 1e-3)
    matrix = np.vstack([prefix(12), np.full((3, 12), 5.0)])
    found = factorize(matrix, "mean", 1e-3)
    assert found.upper == pytest.approx(bare.upper, rel=1e-9)
    assert not found.left[:, -3:].any()
    assert found.centre[-3:].tolist() == [5.0] * 3
    assert found.row_weights[-3:].tolist() == [0.0] * 3


def test_scaling_and_shifting_a_workload_scales_its_value(prefix):
    matrix = prefix(10)
    first = factorize(matrix, "max", 1e-3)
    second = factorize(100 * matrix + np.arange(9.0)[:, None], "max", 1e-3)
    assert second.upper == pytest.approx(100 * first.upper, rel=1e-9)


def test_swapping_queries_and_types_leaves_gamma2_alone():
    matrix = np.random.default_rng(5).normal(size=(6, 11))
    wide, tall = factorize(matrix, "max", 1e-3, False), factorize(matrix.T, "max", 1e-3, False)
    assert wide.upper == pytest.approx(tall.upper, rel=1e-9)


def test_progress_grows_until_the_gap_is_reached(prefix):
    seen = []
    factorize(prefix(64), "max", 1e-3, progress=seen.append)
    fractions = [step.fraction for step in seen]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] == 1


def test_bounds_only_get_better(prefix):
    found = [factorize(prefix(64), "max", 1e-3, max_iterations=steps) for steps in range(1, 40)]
    assert [each.iterations for each in found] == sorted(each.iterations for each in found)
    assert [each.lower for each in found] == sorted(each.lower for each in found)
    assert [each.upper for each in found] == sorted((each.upper for each in found), reverse=True)


def test_the_gap_reached_is_stated_when_the_iterations_run_out(prefix):
    found = factorize(prefix(64), "max", 1e-6, max_iterations=3)
    assert found.iterations == 3
    assert 0.01 < found.gap < 0.3
    check_certificate(prefix(64), found)


@pytest.mark.parametrize(
    ("matrix", "options", "advice"),
    [
        (np.ones((2, 3)), {}, "constant"),
        (np.zeros((2, 3)), {"centred": False}, "constant"),
        (np.zeros((0, 3)), {}, "shape"),
        (np.zeros(3), {}, "shape"),
        (np.array([[1.0, np.nan]]), {}, "finite"),
        (np.eye(2), {"objective": "median"}, "median"),
        (np.eye(2), {"gap": 0.0}, "positive"),
        (np.eye(2), {"gap": float("nan")}, "positive"),
        (np.eye(2), {"max_iterations": 0}, "positive"),
    ],
)
def test_what_cannot_be_factorized_is_refused(matrix, options, advice):
    with pytest.raises(FactorizationError, match=advice):
        factorize(matrix, **options)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_prefix_1024_to_one_percent_takes_less_than_a_minute(prefix, objective):
    start = time.process_time()
    found = factorize(prefix(1024), objective, 0.01)
    assert time.process_time() - start < 60
    assert found.gap <= 0.01
    check_certificate(prefix(1024), found)
