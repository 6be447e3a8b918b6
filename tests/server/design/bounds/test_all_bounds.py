"""No unbiased one-round mechanism is below any bound: random kernels with their best decoders, random certificates."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sordino_server.design.bounds import doubly_nonnegative_bound, recheck, recheck_doubly_nonnegative, trace_bound
from sordino_server.design.search.balanced_rows import balanced_weights
from sordino_server.design.search.objectives import gls_decoder, variances

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


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(2, 6), st.integers(1, 5), EPSILONS)
def test_whatever_weights_somebody_publishes(seed, types, queries, epsilon):
    """Also for the average under these very weights, which is what a bound speaks of, and the decoder is best for."""
    rng, matrix, found, columns = scene(seed, types, queries, epsilon)
    rows = rng.dirichlet(np.ones(queries))
    average = rows @ found @ columns * (1 + 1e-6) + 1e-9
    assert recheck(matrix, epsilon, rows, columns) <= average
    pairs = np.triu(np.outer(columns, columns), 1) * rng.choice([0.0, 0.1, 1.0, 10.0]) * rng.random((types, types))
    levels = columns * rng.uniform(0.7, 1.3, types)
    assert recheck_doubly_nonnegative(matrix, epsilon, rows, columns, levels, pairs) <= average
    assert average <= found.max() * (1 + 1e-6) + 2e-9


@settings(max_examples=8, deadline=None)
@given(SEEDS, st.integers(2, 5), st.integers(1, 4), EPSILONS)
def test_the_best_certificates_found(seed, types, queries, epsilon):
    _, matrix, found, _ = scene(seed, types, queries, epsilon)
    for bound in (trace_bound, doubly_nonnegative_bound):
        assert bound(matrix, epsilon, "max").value <= found.max() * (1 + 1e-6)
        assert bound(matrix, epsilon, "mean").value <= found.mean(axis=0).max() * (1 + 1e-6)
