"""Numbers whose values are public: exact in every moment, from the shipped integers."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.mechanisms.single_query import furthest_answer
from sordino_analysis.pairwise.public_numbers import number_kernel, number_variances
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.audit import prove_epsilon
from sordino_shared.guarantees import PureEpsilon

VALUES = np.array([0.31, 0.34, 0.36, 0.4, 0.4702, 0.4703])
EVEN = np.full(6, 1 / 6)


@pytest.mark.parametrize("epsilon", ["0.01", "0.25", "1", "4", "8"])
def test_every_type_is_unbiased_and_the_whole_epsilon_is_spent_on_the_range_of_the_values(epsilon: str) -> None:
    guarantee = PureEpsilon.of(epsilon)
    asked = number_kernel(VALUES, EVEN, guarantee)
    sent, chances = ndarray(asked.decoder.matrix)[0], probabilities(asked.kernel)
    offset, radius = float(ndarray(asked.decoder.offset)[0]), np.ptp(VALUES) / 2
    assert np.allclose(offset + sent @ chances, VALUES, rtol=0, atol=1e-10 * np.abs(sent).max())
    assert np.abs(sent).max() <= furthest_answer(guarantee) * radius
    proved = prove_epsilon(asked.kernel)
    assert proved is not None
    assert 0.99 * guarantee.nano < proved.nano <= guarantee.nano


def test_a_number_with_one_value_is_not_asked_and_comes_back_exactly() -> None:
    for values in (np.full(6, 0.1), np.full(6, 0.1) * (1 + 1e-15 * np.arange(6)), np.zeros(6)):
        asked = number_kernel(values, EVEN, PureEpsilon.of(1))
        proved = prove_epsilon(asked.kernel)
        assert proved is not None
        assert proved.nano == 0
        assert not asked.variances.any()
        assert (
            ndarray(asked.decoder.offset)[0] + ndarray(asked.decoder.matrix)[0] @ kernel_table(asked.kernel)[:, 0]
            == values[0]
        )


def test_one_kernel_for_several_numbers_predicts_what_each_one_of_its_own_has() -> None:
    generator = np.random.default_rng(1)
    numbers = np.vstack([generator.normal(size=(20, 6)), np.full((1, 6), 3.0)])
    for epsilon in ("0.25", "2"):
        guarantee = PureEpsilon.of(epsilon)
        together = number_variances(numbers, np.tile(EVEN, (21, 1)), guarantee).mean(axis=1)
        apart = np.array([number_kernel(values, EVEN, guarantee).variances.mean() for values in numbers])
        assert together[-1] == apart[-1] == 0
        assert together.sum() == pytest.approx(apart.sum(), rel=0.05)
        assert together[:-1] == pytest.approx(apart[:-1], rel=0.35)
