import numpy as np
import pytest


@pytest.fixture
def prefix():
    """The prefix workload over k bins, (k−1)×k."""
    return lambda size: np.tril(np.ones((size, size)))[:-1]


@pytest.fixture
def awkward():
    """Matrices with what real ones have: few queries, many, duplicates, constants, rank one, uneven scales."""
    rng = np.random.default_rng(7)
    prefix = np.tril(np.ones((9, 9)))[:-1]
    return {
        "few queries": rng.normal(size=(4, 15)),
        "many queries": rng.normal(size=(40, 6)),
        "duplicates, zero and constant rows": np.vstack([prefix] * 3 + [np.zeros((2, 9)), np.full((1, 9), 0.3)]),
        "rank one": np.outer(rng.normal(size=6), rng.normal(size=9)),
        "one query": np.array([[0.0, 1.0, 1.0, 0.0]]),
        "two types": np.array([[0.0, 1.0], [2.0, -1.0]]),
        "equal columns": np.repeat(prefix, 2, axis=1),
        "large offset": 1e6 + prefix,
        "tiny": 1e-90 * prefix,
        "huge": 1e90 * prefix,
        "uneven": np.diag(10.0 ** np.arange(-4, 4)),
    }
