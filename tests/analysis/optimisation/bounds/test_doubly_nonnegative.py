"""The doubly non-negative bound: below the ground truth, near it, and proved by its arrays alone."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import (
    doubly_nonnegative_bound,
    recheck,
    recheck_doubly_nonnegative,
    trace_bound,
)
from sordino_analysis.optimisation.factorization import FactorizationError, factorize
from sordino_shared.errors import InvalidValue

KINDS = ["prefix", "histogram", "ranges", "parities"]
# The accuracy of the ground truth's solver.
SOLVER = 1e-5


def rechecked(matrix, bound):
    return recheck_doubly_nonnegative(
        matrix, bound.epsilon, bound.query_weights, bound.type_weights, bound.levels, bound.pairs
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.98), (2.0, 0.965), (4.0, 0.99)])
def test_between_the_trace_bound_and_the_exact_mean(exact_optimum, small_matrix, kind, epsilon, least):
    matrix = small_matrix(kind, 8)
    exact = exact_optimum(matrix, epsilon, "mean")
    bound = doubly_nonnegative_bound(matrix, epsilon, "mean")
    assert least * exact <= bound.value <= exact * (1 + SOLVER)
    assert bound.value >= trace_bound(matrix, epsilon, "mean").value * (1 - 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_below_the_exact_maximum(exact_optimum, small_matrix, kind, epsilon):
    matrix = small_matrix(kind, 8)
    bound = doubly_nonnegative_bound(matrix, epsilon, "max")
    assert 0 < bound.value <= exact_optimum(matrix, epsilon, "max") * (1 + SOLVER)
    assert bound.value >= trace_bound(matrix, epsilon, "max").value * (1 - 1e-4)


@pytest.mark.parametrize("kind", ["histogram", "parities"])
def test_it_is_the_exact_mean_at_large_epsilon(exact_optimum, small_matrix, kind):
    matrix = small_matrix(kind, 8)
    bound = doubly_nonnegative_bound(matrix, 4.0, "mean", tolerance=1e-6)
    assert bound.value == pytest.approx(exact_optimum(matrix, 4.0, "mean"), rel=2e-4)


def test_a_symmetric_start_is_a_saddle_that_is_left(exact_optimum, small_matrix):
    """All pairs of types are alike there; stopping where the first climbs gain nothing would prove 7.87 and 6.24."""
    matrix = small_matrix("parities", 8)
    exact = exact_optimum(matrix, 1.5, "mean")
    assert doubly_nonnegative_bound(matrix, 1.5, "mean").value > 0.98 * exact
    assert doubly_nonnegative_bound(small_matrix("parities", 16), 2.0, "mean").value > 6.5


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_random_workloads_with_few_queries_are_bounded_too(exact_optimum, epsilon):
    # The optima of these are recorded: both ε draw from one stream.
    rng = np.random.default_rng(5)
    drawn = [rng.normal(size=size) for _ in range(2) for size in ((1, 5), (3, 6), (9, 4))]
    for matrix in drawn[:3] if epsilon == 0.5 else drawn[3:]:
        # Product weights miss more of the maximum, where every query would have its own type weights.
        for objective, least in (("mean", 0.92), ("max", 0.7)):
            exact = exact_optimum(matrix, epsilon, objective)
            found = doubly_nonnegative_bound(matrix, epsilon, objective).value
            assert least * exact <= found <= exact * (1 + SOLVER)


def test_any_certificate_is_below_the_exact_optimum(exact_optimum, small_matrix):
    """Not only what the ascent finds: whatever weights and multipliers somebody sends prove something true."""
    rng = np.random.default_rng(6)
    matrix = small_matrix("prefix", 6)
    proved = []
    for _ in range(300):
        epsilon = float(rng.choice([0.5, 1.0, 2.0, 4.0]))
        rows, columns = rng.dirichlet(np.full(5, 3.0)), rng.dirichlet(np.full(6, 3.0))
        pairs = rng.exponential(size=(6, 6)) * rng.choice([0.0, 0.01, 0.1, 1.0]) / 36
        levels = columns * rng.uniform(0.7, 1.3, 6)
        value = recheck_doubly_nonnegative(matrix, epsilon, rows, columns, levels, pairs)
        assert value <= exact_optimum(matrix, epsilon, "max")
        proved.append(value > 0)
    assert sum(proved) > 50


def test_a_form_that_is_negative_somewhere_pays_for_its_lift(exact_optimum):
    """These multipliers make R′ negative on a part of πᵀz = 0; taking it as zero there would prove .185 of .181."""
    matrix, columns = np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([0.3784, 0.3472, 0.0265, 0.2479])
    pairs = np.zeros((4, 4))
    pairs[np.triu_indices(4, 1)] = 0.0394, 0.0301, 0.8442, 0.0028, 0.0258, 0.002
    levels = np.array([0.1135, 0.1042, 0.0795, 0.0025])
    value = recheck_doubly_nonnegative(matrix, 2.0, np.ones(1), columns, levels, pairs)
    assert value <= exact_optimum(matrix, 2.0, "max")
    # Where it is only slightly negative something is left of the bound.
    columns, levels = np.array([0.0957, 0.2699, 0.0384, 0.596]), np.array([0.2871, 0.081, 0.0384, 0.006])
    pairs[np.triu_indices(4, 1)] = 0.0077, 0.0011, 0.0, 0.0001, 0.0161, 0.0069
    value = recheck_doubly_nonnegative(matrix, 0.5, np.ones(1), columns, levels / levels.sum(), pairs / levels.sum())
    assert 1.5 < value < exact_optimum(matrix, 0.5, "max")


def test_without_pairs_it_is_the_trace_bound(small_matrix):
    matrix = small_matrix("ranges", 7)
    rng = np.random.default_rng(8)
    rows, columns = rng.dirichlet(np.ones(len(matrix))), rng.dirichlet(np.full(7, 4.0))
    value = recheck_doubly_nonnegative(matrix, 0.8, rows, columns, 5 * columns, np.zeros((7, 7)))
    assert value == pytest.approx(recheck(matrix, 0.8, rows, columns), rel=1e-9)


def test_the_arrays_alone_prove_the_value(small_matrix):
    matrix = small_matrix("prefix", 16)
    bound = doubly_nonnegative_bound(matrix, 3.0, "max")
    assert rechecked(matrix, bound) == bound.value
    # Multipliers of any common scale prove the same; other ones prove less, and never more than is true.
    scaled = replace(bound, levels=7 * bound.levels, pairs=7 * bound.pairs)
    assert rechecked(matrix, scaled) == pytest.approx(bound.value, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        bent = replace(bound, levels=bound.levels * rng.uniform(0.8, 1.2, 16))
        assert rechecked(matrix, bent) < bound.value


def test_a_certificate_rounded_to_single_precision_still_proves_nearly_all(small_matrix):
    matrix = small_matrix("prefix", 12)
    bound = doubly_nonnegative_bound(matrix, 4.0, "mean")
    rounded = replace(
        bound,
        levels=bound.levels.astype(np.float32).astype(float),
        pairs=bound.pairs.astype(np.float32).astype(float),
    )
    assert rechecked(matrix, rounded) == pytest.approx(bound.value, rel=1e-3)


@pytest.mark.slow
def test_prefix_over_128_types_where_the_trace_bound_has_little_to_say(small_matrix):
    matrix = small_matrix("prefix", 128)
    bound = doubly_nonnegative_bound(matrix, 4.0, "mean", tolerance=2e-3)
    assert 0.28 < bound.value < 0.313
    # .0875 without the limit of the eigenvalues.
    assert trace_bound(matrix, 4.0, "mean").value == pytest.approx(0.1267, abs=2e-4)


def test_the_mean_of_many_queries_is_that_of_their_gram(small_matrix):
    """More queries than types are condensed for the ascent; the arrays still prove the value for all of them."""
    matrix = small_matrix("ranges", 7)
    bound = doubly_nonnegative_bound(matrix, 3.0, "mean")
    assert rechecked(matrix, bound) == bound.value
    doubled = doubly_nonnegative_bound(np.vstack([matrix, matrix]), 3.0, "mean")
    assert doubled.value == pytest.approx(bound.value, rel=1e-3)


def test_constant_queries_have_no_weight_and_scales_square(small_matrix):
    matrix = small_matrix("prefix", 6)
    plain = doubly_nonnegative_bound(matrix, 2.0, "mean")
    padded = doubly_nonnegative_bound(np.vstack([1e3 + 20 * matrix, np.full((2, 6), 0.5)]), 2.0, "mean")
    np.testing.assert_allclose(padded.query_weights, [0.2] * 5 + [0, 0])
    assert padded.value == pytest.approx(400 * plain.value, rel=1e-5)


def test_what_is_no_certificate_is_refused(small_matrix):
    matrix, rows, columns = small_matrix("prefix", 4), np.full(3, 1 / 3), np.full(4, 1 / 4)
    levels, pairs = np.ones(4), np.zeros((4, 4))
    with pytest.raises(InvalidValue, match="not negative"):
        recheck_doubly_nonnegative(matrix, 1.0, rows, columns, levels, pairs - 1e-9)
    with pytest.raises(InvalidValue, match="not negative"):
        recheck_doubly_nonnegative(matrix, 1.0, rows, columns, levels * np.nan, pairs)
    with pytest.raises(InvalidValue, match="4×4"):
        recheck_doubly_nonnegative(matrix, 1.0, rows, columns, levels, pairs[:3])
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_doubly_nonnegative(matrix, 1.0, 2 * rows, columns, levels, pairs)
    with pytest.raises(InvalidValue, match="one weight"):
        recheck_doubly_nonnegative(matrix.T, 1.0, rows, columns, levels, pairs)
    # Multipliers that prove nothing leave what the weights alone prove.
    plain = recheck(matrix, 1.0, rows, columns)
    assert recheck_doubly_nonnegative(matrix, 1.0, rows, columns, 0 * levels, pairs) == plain


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), 17.0])
def test_epsilon_out_of_reach_is_refused(small_matrix, epsilon):
    with pytest.raises(InvalidValue, match="ε"):
        doubly_nonnegative_bound(small_matrix("prefix", 4), epsilon)


def test_workloads_out_of_reach_are_refused(small_matrix):
    matrix = small_matrix("prefix", 4)
    with pytest.raises(InvalidValue, match="128 types"):
        doubly_nonnegative_bound(small_matrix("prefix", 129), 1.0)
    with pytest.raises(InvalidValue, match="same matrix"):
        doubly_nonnegative_bound(matrix, 1.0, "max", factorize(matrix, "mean"))
    with pytest.raises(FactorizationError):
        doubly_nonnegative_bound(np.ones((2, 2)), 1.0)
