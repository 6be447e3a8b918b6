"""Optimal Gaussian noise: the dual is recomputed by brute force, the noise is feasible, and known values come out."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from sordino_analysis.optimisation.gaussian.covariance import dual_value, optimal_covariance, proof_from_types
from sordino_analysis.optimisation.gaussian.distance_orbits import (
    marginal_spectrum,
    optimal_orbits,
    orbit_dual_value,
)
from sordino_shared.errors import InvalidValue


def prefix(size: int) -> np.ndarray:
    return np.tril(np.ones((size, size)))[:-1]


def marginals(bits: int, width: int) -> np.ndarray:
    cells = list(product((0, 1), repeat=bits))
    return np.array(
        [
            [float(all(cell[i] == value for i, value in zip(members, values, strict=True))) for cell in cells]
            for members in combinations(range(bits), width)
            for values in product((0, 1), repeat=width)
        ]
    )


def differences(matrix: np.ndarray, neighbours: str) -> np.ndarray:
    if neighbours == "add-remove":
        return matrix.T
    return np.array([matrix[:, x] - matrix[:, y] for x, y in combinations(range(matrix.shape[1]), 2)])


WORKLOADS = {
    "prefix": prefix(32),
    "marginals": marginals(4, 2),
    "histogram": np.eye(12),
    "signs": np.random.default_rng(0).choice([-1.0, 1.0], (24, 40)),
    "one query": np.array([[0.0, 1.0, 3.0]]),
}


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_noise_is_feasible_and_its_trace_is_within_the_gap_of_what_the_weights_prove(name: str, neighbours) -> None:
    matrix = WORKLOADS[name]
    found = optimal_covariance(matrix, neighbours, gap=0.004)
    assert found.lower <= found.upper <= (1.004 + 1e-3) * found.lower  # and what pruning of weights costs
    assert dual_value(matrix, found.weights) == pytest.approx(found.lower, rel=1e-9)
    assert np.trace(found.covariance) == pytest.approx(len(matrix) * found.upper**2)
    steps = differences(matrix, neighbours) @ found.basis
    assert np.einsum("ij,ij->i", steps, np.linalg.solve(found.covariance, steps.T).T).max() <= 1 + 1e-9


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_bounds_enclose_the_optimum_of_a_semidefinite_program(neighbours) -> None:
    import cvxpy as cp

    matrix = np.array([[1.0, 0, 0, 2], [1, 1, 0, -1], [0, 3, 1, 0]])
    noise, inverse = cp.Variable((3, 3), PSD=True), cp.Variable((3, 3), PSD=True)
    coupled = [cp.bmat([[noise, np.eye(3)], [np.eye(3), inverse]]) >> 0]
    near = [step @ inverse @ step <= 1 for step in differences(matrix, neighbours)]
    program = cp.Problem(cp.Minimize(cp.trace(noise)), coupled + near)
    program.solve(solver=cp.CLARABEL)
    found = optimal_covariance(matrix, neighbours, gap=1e-4)
    assert found.lower * (1 - 1e-6) <= math.sqrt(program.value / 3) <= found.upper * (1 + 1e-6)


@pytest.mark.parametrize(
    ("matrix", "neighbours", "value"),
    [
        (np.tril(np.ones((128, 128))), "add-remove", 2.3146),
        (prefix(128), "replace", 2.7800),
        (np.eye(32), "replace", 1.3919),
        (marginals(6, 2), "replace", 2.8284),
        (marginals(6, 2), "add-remove", 2.0843),
    ],
)
def test_known_values(matrix: np.ndarray, neighbours, value: float) -> None:
    found = optimal_covariance(matrix, neighbours, gap=0.002)
    assert found.lower * 0.999 <= value <= found.upper * 1.001


def test_orbits_agree_with_the_dense_solver() -> None:
    matrix = marginals(5, 2)
    for neighbours in ("replace", "add-remove"):
        dense = optimal_covariance(matrix, neighbours, gap=0.001)
        orbits = optimal_orbits(5, marginal_spectrum(5, 2), len(matrix), neighbours)
        assert orbits.lower <= dense.upper * (1 + 1e-9)
        assert dense.lower <= orbits.upper * (1 + 1e-9)
        assert orbits.gap <= 1e-4


def test_weights_of_distances_prove_as_much_when_written_out_in_pairs() -> None:
    matrix = marginals(5, 2)
    orbits = optimal_orbits(5, marginal_spectrum(5, 2), len(matrix))
    cells = np.array(list(product((0, 1), repeat=5)))
    distances = (cells[:, None] != cells).sum(axis=2)
    weights = np.zeros((32, 32))
    for t, share in enumerate(orbits.distance_weights, start=1):
        weights[distances == t] = share * 2 / (distances == t).sum()
    assert dual_value(matrix, weights / weights.sum() * 2) == pytest.approx(orbits.lower, rel=1e-6)
    assert orbit_dual_value(5, orbits.spectrum, len(matrix), orbits.distance_weights) == orbits.lower


@pytest.mark.parametrize(
    ("bits", "width", "add_remove", "replace"),
    [(8, 2, 2.57288, 3.5176), (10, 3, 3.63133, 5.1235), (20, 2, 5.27715, 7.3485), (100, 3, 67.7876, 109.24)],
)
def test_marginals_of_many_bits(bits: int, width: int, add_remove: float, replace: float) -> None:
    queries = math.comb(bits, width) * 2**width
    spectrum = marginal_spectrum(bits, width)
    assert optimal_orbits(bits, spectrum, queries, "add-remove").upper == pytest.approx(add_remove, rel=1e-5)
    found = optimal_orbits(bits, spectrum, queries)
    assert found.gap <= 1e-4
    assert found.lower <= replace * (1 + 1e-4)
    assert replace <= found.upper * (1 + 1e-4)


def test_parities_of_eight_bits() -> None:
    spectrum = np.array([0.0, 1.0, 1.0])
    assert optimal_orbits(8, spectrum, 36, "add-remove").lower == pytest.approx(6)
    assert optimal_orbits(8, spectrum, 36).lower == pytest.approx(math.sqrt(80), rel=1e-4)


def test_a_proof_of_present_types_weights_their_pairs_alone() -> None:
    present = np.array([0, 3, 5])
    weights = proof_from_types(np.eye(12), present)
    absent = np.setdiff1d(np.arange(12), present)
    assert (weights[np.ix_(absent, absent)] == 0).all()
    assert 1 < dual_value(np.eye(12), weights) < optimal_covariance(np.eye(12)).lower


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(4, 0.3), "sum to 1"),
        (np.full(5, 0.2), "one for each type"),
        (np.array([1.5, -0.5, 0, 0]), "not negative"),
        (np.full((4, 4), 0.125), "zero where a type is paired with itself"),
        (np.triu(np.ones((4, 4)), 1) / 3, "symmetric"),
    ],
)
def test_weights_that_prove_nothing_are_refused(weights: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        dual_value(np.eye(4), weights)


def test_workloads_without_a_question_are_refused() -> None:
    with pytest.raises(InvalidValue, match="ask a query that varies"):
        optimal_covariance(np.ones((2, 5)))
    with pytest.raises(InvalidValue, match="finite entries"):
        optimal_covariance(np.full((2, 5), np.nan))
    with pytest.raises(InvalidValue, match="must be positive"):
        optimal_covariance(np.eye(3), gap=0)
    with pytest.raises(InvalidValue, match="marginals are of"):
        marginal_spectrum(3, 4)
    with pytest.raises(InvalidValue, match="one above 0"):
        optimal_orbits(3, np.array([1.0, 0]), 1)
    with pytest.raises(InvalidValue, match="no pair of types"):
        proof_from_types(np.eye(3), np.array([], dtype=np.int64))


@pytest.mark.slow
def test_prefix_of_512_cells_is_solved_in_seconds() -> None:
    found = optimal_covariance(prefix(512), gap=0.005)
    assert found.gap <= 0.0062
    assert found.iterations <= 60


def test_a_search_near_weights_that_were_good_is_shorter_and_proves_as_much() -> None:
    matrix = prefix(64)
    weighted = np.linspace(0.98, 1.02, len(matrix))[:, None] * matrix
    far = optimal_covariance(weighted)
    near = optimal_covariance(weighted, near=optimal_covariance(matrix).weights)
    assert near.iterations < far.iterations / 2
    assert near.gap <= 0.0062
    assert near.lower == pytest.approx(far.lower, rel=0.006)
