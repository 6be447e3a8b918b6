"""The bound of a form's unbiased estimates: below the exact variance of every kernel, and its own numbers prove it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.pair_game import PairGame, recheck_pair_game, sampling_excess
from sordino_analysis.optimisation.bounds.pair_game_program import best_pair_game
from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue


def distances(size: int) -> Floats:
    places = np.arange(size) / (size - 1)
    return np.asarray(np.abs(np.subtract.outer(places, places)))


def game_of(matrix: Floats, epsilon: float, populations: Floats, users: int, target: Target = "pairs") -> PairGame:
    game = best_pair_game(matrix, epsilon, users, target, populations)
    assert game is not None
    return game


def value(matrix: Floats, epsilon: float, populations: Floats, users: int, target: Target = "pairs") -> float:
    return recheck_pair_game(matrix, epsilon, users, target, game_of(matrix, epsilon, populations, users, target))


def least_variances(matrix: Floats, kernels: list[Floats], users: int, target: Target) -> Floats:
    """(k,) the variance where all users hold j, of the unbiased estimator of least variance there, by enumeration.

    Outputs of all users and all data sets are listed; the estimator is the least-norm solution of unbiasedness.
    """
    size = len(matrix)
    data = list(product(range(size), repeat=users))
    likelihoods = []
    for types in data:
        likelihood = np.ones(1)
        for kernel, held in zip(kernels, types, strict=True):
            likelihood = np.kron(likelihood, kernel[:, held])
        likelihoods.append(likelihood)
    chances = np.array(likelihoods)
    truths = []
    for types in data:
        pairs = matrix[np.ix_(types, types)]
        whole, own = pairs.sum(), np.trace(pairs)
        truths.append((whole - own) / (users * (users - 1)) if target == "pairs" else whole / users**2)
    found = []
    for held in range(size):
        at = chances[data.index((held,) * users)]
        solution = np.linalg.lstsq(chances / np.sqrt(at), np.array(truths), rcond=None)[0]
        assert np.abs(chances / np.sqrt(at) @ solution - truths).max() < 1e-7
        found.append(float(solution @ solution) - truths[data.index((held,) * users)] ** 2)
    return np.array(found)


def drawn_kernel(rng: np.random.Generator, types: int, outputs: int, epsilon: float) -> Floats:
    """Randomised response, whose answers are then moved at random: ε-LDP as all that is made of its answers is."""
    response = (1 + np.expm1(epsilon) * np.eye(types)) / (types + np.expm1(epsilon))
    moved = rng.dirichlet(np.full(outputs, 0.3), size=types).T * rng.uniform(0, 0.4)
    return np.asarray((moved + (1 - moved.sum(axis=0)) * np.eye(outputs, types)) @ response)


@pytest.mark.parametrize("target", ["pairs", "histogram"])
@pytest.mark.parametrize(("types", "outputs", "users"), [(2, 2, 2), (2, 2, 4), (3, 3, 2), (3, 3, 3), (3, 4, 3)])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_no_kernels_of_the_users_are_below_the_bound(
    types: int, outputs: int, users: int, epsilon: float, target: Target
) -> None:
    """The users' kernels differ; the best unbiased estimator of all their reports at once is found by enumeration."""
    rng, least = np.random.default_rng(types * 100 + users), math.inf
    for _ in range(8):
        kernels = [drawn_kernel(rng, types, outputs, epsilon) for _ in range(users)]
        matrix = rng.normal(size=(types, types))
        matrix += matrix.T
        variances = users * least_variances(matrix, kernels, users, target)
        game = game_of(matrix, epsilon, np.eye(types), users, target)
        proved = recheck_pair_game(matrix, epsilon, users, target, game)
        assert proved <= game.weights @ variances * (1 + 1e-6)
        least = min(least, variances.max() / proved)
        for held in range(types):
            alone = value(matrix, epsilon, np.eye(types)[held : held + 1], users, target)
            assert alone <= variances[held] * (1 + 1e-6)
    assert 1 - 1e-6 <= least < 4


def test_populations_of_two_types_bound_the_mean_over_their_data() -> None:
    """E Var(U | X) for X ~ hⁿ of the U-statistic by randomised response, whose data sets are enumerated."""
    epsilon, users, matrix = 4.0, 3, 1 - np.eye(3)
    boost = math.exp(epsilon)
    kernel = (1 + (boost - 1) * np.eye(3)) / (boost + 2)
    decoder = np.linalg.inv(kernel)
    for share in (0.5 / boost, 1 / boost, 0.3):
        population = np.array([1 - share, share, 0.0])
        total = 0.0
        for types in product(range(3), repeat=users):
            chance = math.prod(population[held] for held in types)
            if chance == 0:
                continue
            first = second = 0.0
            for outputs in product(range(3), repeat=users):
                likely = math.prod(kernel[sent, held] for sent, held in zip(outputs, types, strict=True))
                pairs = decoder[:, outputs].T @ matrix @ decoder[:, outputs]
                estimate = (pairs.sum() - np.trace(pairs)) / (users * (users - 1))
                first, second = first + likely * estimate, second + likely * estimate**2
            total += chance * (second - first**2)
        assert value(matrix, epsilon, population[None, :], users) <= users * total * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "size", "epsilon", "expected"),
    [("diversity", 3, 1, 7.365), ("diversity", 4, 1, 8.286), ("diversity", 8, 1, 11.278), ("diversity", 4, 4, 0.1710),
     ("distances", 4, 1, 3.683), ("distances", 6, 1, 3.683), ("distances", 6, 4, 0.0760)],
)  # fmt: skip
def test_games_over_populations_of_one_type_have_their_known_values(
    name: str, size: int, epsilon: float, expected: float
) -> None:
    matrix = 1 - np.eye(size) if name == "diversity" else distances(size)
    assert value(matrix, epsilon, np.eye(size), 1000) == pytest.approx(expected, rel=1e-3)


def test_two_types_leave_what_randomised_response_has() -> None:
    matrix = distances(2)
    for epsilon in (0.5, 1.0, 4.0, 8.0):
        found = value(matrix, epsilon, np.eye(2)[:1], 100)
        assert found == pytest.approx(1 / math.sinh(epsilon / 2) ** 2, rel=1e-6)


def test_a_form_without_differences_has_no_bound() -> None:
    game = PairGame(populations=np.eye(2), weights=np.full(2, 0.5), numerators=np.ones((2, 2)), multipliers=np.ones(2))
    assert recheck_pair_game(np.full((2, 2), 3.0), 1.0, 10, "pairs", game) == 0.0


def test_changed_numbers_never_prove_more_than_the_best() -> None:
    matrix, epsilon = 1 - np.eye(4), 2.0
    game = game_of(matrix, epsilon, np.eye(4), 100)
    best = recheck_pair_game(matrix, epsilon, 100, "pairs", game)
    rng = np.random.default_rng(0)
    for _ in range(40):
        place = rng.integers(4), rng.integers(4)
        numerators, multipliers, weights = game.numerators.copy(), game.multipliers.copy(), game.weights.copy()
        numerators[place] *= rng.uniform(0.9, 1.1)
        multipliers[place[0]] *= rng.uniform(0.9, 1.1)
        weights[place[1]] *= rng.uniform(0.9, 1.1)
        changed = PairGame(
            populations=game.populations,
            weights=weights / weights.sum(),
            numerators=numerators,
            multipliers=multipliers,
        )
        assert recheck_pair_game(matrix, epsilon, 100, "pairs", changed) <= best * (1 + 1e-6)


def test_what_is_no_certificate_is_refused() -> None:
    matrix, game = distances(3), game_of(distances(3), 1.0, np.eye(3), 10)
    parts = {"numerators": game.numerators, "multipliers": game.multipliers}
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_pair_game(matrix, 1.0, 10, "pairs", PairGame(populations=2 * np.eye(3), weights=game.weights, **parts))
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_pair_game(matrix, 1.0, 10, "pairs", PairGame(populations=np.eye(3), weights=np.ones(3), **parts))
    mixed = PairGame(populations=np.full((3, 3), 1 / 3), weights=game.weights, **parts)
    with pytest.raises(InvalidValue, match="of one type"):
        recheck_pair_game(matrix, 1.0, 10, "histogram", mixed)
    assert (sampling_excess(matrix, np.eye(3), 10) == 0).all()
    assert (sampling_excess(matrix, np.full((1, 3), 1 / 3), 10) > 0).all()
