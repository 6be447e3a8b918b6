"""No unbiased one-round mechanism is below any bound: random kernels with their best decoders, random certificates."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sordino_analysis.optimisation.bounds import (
    doubly_nonnegative_bound,
    recheck,
    recheck_doubly_nonnegative,
    trace_bound,
)
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.objectives import gls_decoder, variances

EPSILONS = st.sampled_from([0.2, 1.0, 2.0, 4.0, 8.0])
SEEDS = st.integers(0, 2**32 - 1)


def scene(seed, types, queries, epsilon):
    """A random workload, and Var_q(x) of a random ε-LDP kernel under the best decoder for random type weights."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(queries, types))
    members = np.vstack([rng.random((40, types)) < rng.uniform(0.1, 0.9), np.eye(types, dtype=bool)])
    levels = np.where(members, np.exp(epsilon), 1.0)
    weights = rng.exponential(size=len(levels))
    try:
        low = balanced_weights(levels, weights / (levels.T @ weights).mean())
    except (ValueError, np.linalg.LinAlgError):
        assume(False)
    kernel = low[:, None] * levels
    assert (kernel.max(axis=1) <= np.exp(epsilon) * kernel.min(axis=1) * (1 + 1e-9)).all()
    columns = rng.dirichlet(np.full(types, 2.0))
    decoder = gls_decoder(kernel, matrix, columns)
    assume(np.abs(decoder @ kernel - matrix).max() < 1e-7)
    return rng, matrix, variances(kernel, decoder, matrix), columns


def symmetric_scene(seed, types, epsilon):
    """Rotated shares of all types, by all subsets of the best size: as near to the bounds as mechanisms come."""
    rng = np.random.default_rng(seed)
    matrix = np.linalg.qr(rng.normal(size=(types, types)))[0]
    size = max(1, round(types / (np.exp(epsilon) + 1)))
    members = np.array([row for row in product([False, True], repeat=types) if sum(row) == size])
    levels = np.where(members, np.exp(epsilon), 1.0)
    kernel = levels / levels.sum(axis=0)
    columns = np.full(types, 1 / types)
    return rng, matrix, variances(kernel, gls_decoder(kernel, matrix, columns), matrix), columns


def check_whatever(rng, matrix, epsilon, found, columns):
    """Rechecks of random weights and multipliers; the share that the highest one proves of the average."""
    queries, types = matrix.shape
    proved = []
    for rows in (np.full(queries, 1 / queries), rng.dirichlet(np.ones(queries))):
        average = rows @ found @ columns
        values = [recheck(matrix, epsilon, rows, columns)]
        for ratio in (0.0, 0.1, 1.0, 10.0, 1e3):
            spread = rng.uniform(1 - 0.1 * rng.random(), 1, (types, types))
            pairs = np.triu(ratio * np.outer(columns, columns) * spread, 1)
            values.append(recheck_doubly_nonnegative(matrix, epsilon, rows, columns, columns, pairs))
        assert max(values) <= average * (1 + 1e-6) + 1e-9
        assert average <= found.max() * (1 + 1e-6) + 1e-9
        proved.append(max(values) / average)
    return max(proved)


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(2, 6), st.integers(1, 5), EPSILONS)
def test_whatever_weights_somebody_publishes(seed, types, queries, epsilon):
    rng, matrix, found, columns = scene(seed, types, queries, epsilon)
    check_whatever(rng, matrix, epsilon, found, columns)


@pytest.mark.parametrize("types", [3, 4, 7])
@pytest.mark.parametrize("epsilon", [0.3, np.log(2), np.log(3), 2.5])
def test_whatever_weights_beside_mechanisms_that_come_near(types, epsilon):
    """Bounds that are a quarter too high would be above each of these; most notice a few per cent."""
    rng, matrix, found, columns = symmetric_scene(types, types, epsilon)
    assert check_whatever(rng, matrix, epsilon, found, columns) > 0.8


@settings(max_examples=8, deadline=None)
@given(SEEDS, st.integers(2, 5), st.integers(1, 4), EPSILONS)
def test_the_best_certificates_found(seed, types, queries, epsilon):
    _, matrix, found, _ = scene(seed, types, queries, epsilon)
    for bound in (trace_bound, doubly_nonnegative_bound):
        assert bound(matrix, epsilon, "max").value <= found.max() * (1 + 1e-6)
        assert bound(matrix, epsilon, "mean").value <= found.mean(axis=0).max() * (1 + 1e-6)
