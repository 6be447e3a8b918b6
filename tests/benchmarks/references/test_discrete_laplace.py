"""Integer Laplace noise: Δ counted, ε proved, whole reports within e^ε by brute force, moments of the closed form."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from benchmarks.references.discrete_laplace import BITS, DiscreteLaplace, most_steps
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound

SIGNS = np.array(list(product((-1, 1), repeat=2)))


def test_steps_are_counted():
    assert most_steps(SIGNS) == 4
    vectors = np.random.default_rng(1).integers(-5, 6, size=(7, 3))
    assert most_steps(vectors) == max(np.abs(a - b).sum() for a, b in combinations(vectors, 2))


@pytest.mark.parametrize("nano", [300_000_000, 10**9, 3 * 10**9])
def test_whole_reports_are_within_e_to_epsilon_and_nearly_reach_it(nano):
    law = DiscreteLaplace.of(SIGNS, PureEpsilon(nano), 4)
    assert {sum(row) for row in law.weights} == {1 << BITS}
    ratio = max(
        Fraction(
            prod(law.weights[u - law.low][z] for u, z in zip(a, report, strict=True)),
            prod(law.weights[u - law.low][z] for u, z in zip(b, report, strict=True)),
        )
        for report in product(range(9), repeat=2)
        for a, b in product(SIGNS.tolist(), repeat=2)
    )
    most = Fraction(exp_lower_bound(nano, 64), 1 << 64)
    assert most * Fraction(999, 1000) < ratio <= most
    assert not law.holds(PureEpsilon(nano * 99 // 100))


def test_moments_are_those_of_two_sided_geometric_noise_far_from_the_ends():
    """Variance 2r/(1 − r)² with r = e^(−ε/Δ), and no bias, where the ends are 40 steps away."""
    law = DiscreteLaplace.of(SIGNS, PureEpsilon(2 * 10**9), 40)
    means, variances = law.moments
    r = np.exp(-2 / 4)
    assert np.allclose(means, [-1, 0, 1], atol=1e-6)
    assert np.allclose(variances, 2 * r / (1 - r) ** 2, rtol=1e-3)
    near, _ = DiscreteLaplace.of(SIGNS, PureEpsilon(10**9), 1).moments
    assert -1 < near[0] < -0.1


def test_what_cannot_be_proved_is_refused():
    with pytest.raises(InvalidValue, match="do not hold the values"):
        DiscreteLaplace.of(SIGNS, PureEpsilon(10**9), 0)
    with pytest.raises(InvalidValue, match="a smaller reach"):
        DiscreteLaplace.of(SIGNS, PureEpsilon(8 * 10**9), 60)
