"""The bound for symmetric queries: against every row, against the trace bound, against the exact optimum."""

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.symmetry.character_bound import (
    SymmetricBound,
    _largest_form,
    _most_of_rows,
    character_bound,
    recheck_characters,
)
from sordino_analysis.optimisation.symmetry.group_orbits import group_orbits
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_shared.errors import InvalidValue

CASES = [
    ((2, 2, 2), {"kind": "parities", "width": 2}),
    ((2, 2, 2), {"kind": "marginals", "width": 2, "exactly": True}),
    ((3, 2), {"kind": "marginals", "width": 2}),
    ((3, 3), {"kind": "marginals", "width": 1}),
]


def uniform(operator):
    return query_fourier_weights(operator).shares


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
def test_what_a_row_tells_is_at_most_f(workload_of, epsilon):
    """All 254 rows over eight types, random multipliers and levels; and the maximum over p on a fine grid."""
    orbits = group_orbits(workload_of((2, 2, 2), {"kind": "parities", "width": 3}).operator.characters)
    members = (np.arange(1, 255)[:, None] >> np.arange(8)) & 1
    rows = np.where(members == 1, np.exp(epsilon), 1.0)
    rows /= rows.mean(axis=1, keepdims=True)
    signs = np.array([[(-1) ** (a & b).bit_count() for a in range(8)] for b in range(8)])
    told = (rows @ signs / 8) ** 2
    widths = np.array([b.bit_count() for b in range(8)])
    rng = np.random.default_rng(1)
    for _ in range(50):
        multipliers = rng.exponential(size=3)
        level = rng.normal() * 0.3
        most = _largest_form(orbits, multipliers, level, epsilon)
        assert (told[:, 1:] @ multipliers[widths[1:] - 1]).max() <= most
    # The grid has the kink at p = q.
    low = np.append(np.linspace(0, 1 - np.exp(-epsilon), 20_001), np.tanh(epsilon / 2))
    high = np.exp(epsilon) * (1 - low) - 1
    for most, least in rng.normal(size=(40, 2)) * [[2, 1]]:
        grid = (most * low * high + abs(least) * np.minimum(low, high) ** 2).max()
        found = _most_of_rows(most, abs(least), epsilon)
        assert max(grid, 0.0) <= found * (1 + 1e-9)
        assert found == pytest.approx(max(grid, 0.0), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("shape", "queries"), CASES)
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_one_multiplier_for_all_is_the_trace_bound_at_uniform_weights(workload_of, shape, queries, epsilon):
    asked = workload_of(shape, queries)
    operator, queried = asked.operator, asked.queries
    used = (query_fourier_weights(operator).by_orbit.max(axis=0) > 0).astype(float)
    # The best c for one multiplier is the same on every character that is used: what a nuclear norm does.
    trace = recheck_characters(operator, epsilon, uniform(operator), used, np.ones(1), 0.0)
    dense = recheck(operator.dense(), epsilon, np.full(queried, 1 / queried), np.full(asked.size, 1 / asked.size))
    assert trace == pytest.approx(dense, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(("shape", "queries"), CASES)
@pytest.mark.parametrize("epsilon", [0.5, 2, 4, 7])
def test_it_is_below_the_exact_optimum_and_close(workload_of, exact_optimum, shape, queries, epsilon):
    operator = workload_of(shape, queries).operator
    bound = character_bound(operator, epsilon, uniform(operator))
    exact = exact_optimum(operator.dense(), epsilon, "mean")
    # The solver of the optimum is right to six digits.
    assert 0.93 * exact <= bound.value <= exact * (1 + 1e-5)


def test_it_is_tighter_than_the_trace_bound_where_epsilon_is_large(workload_of):
    operator = workload_of((2,) * 6, {"kind": "marginals", "width": 2}).operator
    used = np.ones(len(operator.characters.orbits))
    trace = recheck_characters(operator, 4, uniform(operator), used, np.ones(1), 0.0)
    assert character_bound(operator, 4, uniform(operator)).value > 2 * trace


def test_what_proves_nothing_is_refused(workload_of):
    operator = workload_of((2,) * 5, {"kind": "parities", "width": 3}).operator
    bound = character_bound(operator, 2, uniform(operator))
    assert len(bound.multipliers) == 5

    def value(**changes):
        fields = {**vars(bound), **changes}
        made = SymmetricBound(**fields)
        return recheck_characters(operator, 2, made.block_weights, made.spectrum, made.multipliers, made.level)

    assert value() == bound.value
    assert value(level=bound.level + 0.01) < bound.value
    lowered = bound.multipliers.copy()
    lowered[0] = bound.spectrum[0] / 2
    for changes in (
        {"multipliers": lowered},
        {"multipliers": -bound.multipliers},
        {"multipliers": bound.multipliers[1:]},
        {"multipliers": np.array([bound.spectrum.max() / 2])},
        {"spectrum": -bound.spectrum},
        {"spectrum": bound.spectrum[1:]},
        {"block_weights": 2 * bound.block_weights},
        {"block_weights": bound.block_weights[1:]},
    ):
        with pytest.raises(InvalidValue):
            value(**changes)
