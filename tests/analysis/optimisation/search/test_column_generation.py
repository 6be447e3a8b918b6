"""Column generation ends at the exact optimum of small workloads, and never above where it started."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.search.column_generation import Prices, WeightedRows, _Master, generate_columns
from sordino_analysis.optimisation.search.objectives import averaged_by_type, gls_decoder, variances

# What the rounds are stopped at, with a margin for the cone solver.
NEAR = 1.003


def singles(size, epsilon):
    uniform = np.full(size, 1 / size)
    return WeightedRows(np.eye(size, dtype=bool), np.full(size, 1 / (np.exp(epsilon) + size - 1)), uniform)


def mean_variance(matrix, epsilon, rows):
    kernel = rows.weights[:, None] * np.where(rows.members, np.exp(epsilon), 1.0)
    np.testing.assert_allclose(kernel.sum(axis=0), 1.0, rtol=1e-9)
    decoder = gls_decoder(kernel, matrix, rows.type_weights)
    np.testing.assert_allclose(decoder @ kernel, matrix, atol=1e-6)
    return float(variances(kernel, decoder, matrix).mean(axis=0).max())


@pytest.fixture
def scene():
    """Random sets (20, 6) with random weights and π, and queries (5, 6); nothing is balanced."""
    rng = np.random.default_rng(8)
    members = np.vstack([rng.random((14, 6)) < 0.4, np.eye(6, dtype=bool)])
    return WeightedRows(members, rng.uniform(0.1, 1, 20), rng.dirichlet(np.full(6, 3.0))), rng.normal(size=(5, 6))


class TestColumnGeneration:
    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
    @pytest.mark.parametrize("kind", ["prefix", "ranges", "histogram", "parities"])
    def test_eight_types_end_at_the_exact_optimum(self, exact_optimum, small_matrix, kind, epsilon):
        matrix = small_matrix(kind, 8)
        found = mean_variance(matrix, epsilon, generate_columns(matrix, epsilon, singles(8, epsilon), 120))
        exact = exact_optimum(matrix, epsilon, "mean")
        assert exact * (1 - 1e-5) <= found <= exact * NEAR

    @pytest.mark.parametrize("epsilon", [1.0, 4.0])
    def test_queries_without_structure_do_too(self, exact_optimum, epsilon):
        for seed in range(3):
            matrix = np.random.default_rng(seed).normal(size=(5, 6))
            found = mean_variance(matrix, epsilon, generate_columns(matrix, epsilon, singles(6, epsilon), 120))
            exact = exact_optimum(matrix, epsilon, "mean")
            assert exact * (1 - 1e-5) <= found <= exact * NEAR

    def test_more_rounds_never_raise_the_variance_and_none_change_nothing(self, small_matrix):
        matrix, start = small_matrix("prefix", 8), singles(8, 1.0)
        found = [mean_variance(matrix, 1.0, generate_columns(matrix, 1.0, start, rounds)) for rounds in (0, 3, 10, 40)]
        assert found == sorted(found, reverse=True)
        assert found[0] == mean_variance(matrix, 1.0, start)
        assert generate_columns(matrix, 1.0, start, 40, lambda: True) is start

    def test_it_is_deterministic(self, small_matrix):
        first, second = (generate_columns(small_matrix("prefix", 7), 2.0, singles(7, 2.0), 20) for _ in range(2))
        np.testing.assert_array_equal(first.members, second.members)
        np.testing.assert_array_equal(first.weights, second.weights)


class TestNewton:
    def test_the_gains_are_minus_the_slopes_by_the_weights(self, scene):
        """∂tr(G₀M⁻¹)/∂θ_S = −vᵀGv/(πᵀv), against central differences."""
        rows, matrix = scene
        master = _Master(matrix, 1.2, 100)
        prices = Prices(master.priced(rows), np.zeros(6), rows.type_weights, master.boost)
        masses = master.levels(rows) @ rows.type_weights
        slopes = np.array(
            [difference(lambda w: master.value(replace(rows, weights=w)), rows.weights, y) for y in range(20)]
        )
        np.testing.assert_allclose(-prices.gains(rows.members) * masses, slopes, rtol=1e-5)

    def test_a_step_solves_the_system_of_the_second_differences(self, scene):
        """(Hessian + z/θ) dθ + Vλ = −gradient + μ/θ with Vᵀdθ = 0, the Hessian by differences of the gradient."""
        rows, matrix = scene
        master = _Master(matrix, 1.2, 100)
        levels, slacks, target = master.levels(rows), np.linspace(0.5, 2.0, 20), 0.3
        step, multipliers, promised = master._newton(rows, levels, slacks, target)

        def gradient(weights):
            gram = master.priced(replace(rows, weights=weights))
            return -np.einsum("yx,yx->y", levels @ gram, levels) / (levels @ rows.type_weights)

        hessian = np.array([difference(gradient, rows.weights, y) for y in range(20)])
        moved = rows.weights * step
        left = hessian @ moved + slacks / rows.weights * moved + levels @ multipliers
        right = -gradient(rows.weights) + target / rows.weights
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())
        np.testing.assert_allclose(levels.T @ moved, 0, atol=1e-8)
        assert promised > 0

    def test_the_variance_of_each_type_is_that_of_the_best_decoder(self, scene):
        rows, matrix = scene
        master = _Master(matrix, 1.2, 100)
        kernel = rows.weights[:, None] * master.levels(rows)
        gram, squares = matrix.T @ matrix / 5, (matrix**2).mean(axis=0)
        expected = averaged_by_type(kernel, gram, squares, rows.type_weights)
        np.testing.assert_allclose(master.by_type(rows), expected)


class TestPrices:
    def test_flips_are_gains_after_flipping_and_the_search_ends_where_none_helps(self):
        rng = np.random.default_rng(3)
        root = rng.normal(size=(7, 7))
        prices = Prices(root @ root.T, rng.uniform(1, 3, 7), rng.dirichlet(np.ones(7)), 1.7)
        members = rng.random((30, 7)) < 0.5
        gains, flipped = prices._flips(members)
        np.testing.assert_allclose(gains, prices.gains(members))
        for type_ in range(7):
            moved = members.copy()
            moved[:, type_] ^= True
            np.testing.assert_allclose(flipped[:, type_], prices.gains(moved))
        ends = prices.improved(members)
        gains, flipped = prices._flips(ends)
        assert (flipped <= gains[:, None] + 1e-9).all()
        assert (gains >= prices.gains(members) - 1e-12).all()


def difference(function, point, index, step=1e-5):
    moved = np.zeros_like(point)
    moved[index] = step
    return (function(point + moved) - function(point - moved)) / (2 * step)
