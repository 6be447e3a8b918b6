"""Real rows become integers whose ε is proved; decoders are unbiased for the integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_analysis.evaluation import integer_kernels as kernels
from sordino_analysis.evaluation.integer_kernels import (
    KernelError,
    answer_decoder,
    histogram_decoder,
    integer_kernel,
    probabilities,
)
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.audit import prove_epsilon
from sordino_shared.guarantees import PureEpsilon


def balanced(rng, types, rows, epsilon):
    """Random sets, the single types among them, with weights that make columns sum to one."""
    members = np.vstack([rng.random((rows, types)) < 0.4, np.eye(types, dtype=bool)])
    levels = np.where(members, np.exp(epsilon), 1.0)
    weights = rng.random(len(members)) + 0.1
    return balanced_weights(levels, weights / (levels.T @ weights).mean()), members


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.floats(0.001, 16), st.integers(40, 62))
def test_integers_prove_what_was_claimed_and_stay_near_the_real_rows(seed, types, epsilon, bits):
    guarantee = PureEpsilon.of(epsilon)
    low, members = balanced(np.random.default_rng(seed), types, 5 * types, guarantee.epsilon)
    kernel = integer_kernel(low, members, guarantee, bits)
    assert prove_epsilon(kernel) <= guarantee
    assert (kernel_table(kernel).sum(axis=0, dtype=object) == 1 << bits).all()
    real = np.where(members, np.exp(guarantee.epsilon), 1.0) * low[:, None]
    # A lower level loses less than a unit by rounding, so an upper one less than e^ε + 1.
    lost = (np.exp(epsilon) + 1) * 2.0**-bits
    np.testing.assert_allclose(probabilities(kernel)[:-1], real, rtol=1.001e-6, atol=lost)
    assert probabilities(kernel)[-1].max() < 1.001e-6 + len(low) * lost


def test_the_whole_epsilon_is_spent():
    guarantee = PureEpsilon.of(1)
    low, members = balanced(np.random.default_rng(1), 6, 30, 1.0)
    assert prove_epsilon(integer_kernel(low, members, guarantee)) == guarantee


def test_without_shrinking_the_null_output_would_prove_no_epsilon(monkeypatch):
    monkeypatch.setattr(kernels, "NULL_SHARE", 0.0)
    low, members = balanced(np.random.default_rng(2), 8, 60, 0.01)
    with pytest.raises(Exception, match=r"prove|above 2\^bits|sums to more"):
        integer_kernel(low, members, PureEpsilon.of("0.01"))


def test_rows_that_make_no_kernel_are_refused():
    low, members = balanced(np.random.default_rng(3), 4, 20, 1.0)
    guarantee = PureEpsilon.of(1)
    with pytest.raises(KernelError, match="not to one"):
        integer_kernel(low * 1.001, members, guarantee)
    with pytest.raises(KernelError, match="positive weight"):
        integer_kernel(np.where(np.arange(len(low)) == 0, 0.0, low), members, guarantee)
    with pytest.raises(KernelError, match="positive weight"):
        integer_kernel(low[:-1], members, guarantee)
    light = np.append(low, 1e-15)
    with pytest.raises(KernelError, match="leave it out"):
        integer_kernel(light, np.vstack([members, members[:1]]), guarantee, 40)


def test_the_histogram_decoder_is_generalised_least_squares():
    """Unbiased, and no unbiased decoder has less variance averaged over π: moving along the null space only adds."""
    low, members = balanced(np.random.default_rng(4), 5, 40, 1.0)
    kernel, pi = integer_kernel(low, members, PureEpsilon.of(1)), np.random.default_rng(5).dirichlet(np.ones(5))
    table, decoder = probabilities(kernel), ndarray(histogram_decoder(kernel, pi).matrix)
    np.testing.assert_allclose(decoder @ table, np.eye(5), atol=1e-13)
    masses = table @ pi
    null_space = np.linalg.svd(table.T)[2][5:]
    np.testing.assert_allclose(decoder * masses @ null_space.T, 0, atol=1e-10)


def test_an_answer_decoder_for_real_rows_is_repaired_for_the_integers():
    rng = np.random.default_rng(6)
    low, members = balanced(rng, 5, 40, 1.0)
    kernel, matrix = integer_kernel(low, members, PureEpsilon.of(1)), rng.normal(size=(3, 5))
    rows = rng.normal(size=(3, len(low)))
    repaired = ndarray(answer_decoder(kernel, rows, matrix, np.full(5, 0.2)).matrix)
    np.testing.assert_allclose(repaired @ probabilities(kernel), matrix, atol=1e-9)
    real = np.where(members, np.e, 1.0) * low[:, None]
    right = rows + (matrix - rows @ real) @ np.linalg.pinv(real)
    repaired = ndarray(answer_decoder(kernel, right, matrix, np.full(5, 0.2)).matrix)
    np.testing.assert_allclose(repaired[:, :-1], right, atol=1e-4)


def test_a_heavy_row_that_prefers_no_type_fits_into_words():
    # Its upper level, which no type has, would be e^6/4 of the whole.
    guarantee = PureEpsilon.of(6)
    members = np.vstack([np.zeros((1, 8), dtype=bool), np.eye(8, dtype=bool)])
    low = np.array([0.25, *[0.75 / (7 + np.exp(6.0))] * 8])
    assert prove_epsilon(integer_kernel(low, members, guarantee)) == guarantee
