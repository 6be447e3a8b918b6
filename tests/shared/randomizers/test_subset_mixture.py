"""The mixture of subset sizes against its enumerated law; chi-square thresholds have a false alarm of 10⁻⁶."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers import AnyRandomizer, SubsetMixture, SubsetSelection
from sordino_shared.randomness import SeededRandomness

MIXTURE = SubsetMixture.for_guarantee(6, (1, 3, 4), (0.2, 0.5, 0.3), PureEpsilon.of(1))
DRAWS = 100_000


def law(cell: int) -> dict[int, Fraction]:
    """Probability of every set, as the number of its bitmap."""
    shares: dict[int, Fraction] = {}
    whole = 1 << MIXTURE.bits
    for chosen, weight, include in zip(
        MIXTURE.subset_sizes, MIXTURE.size_weights, MIXTURE.include_weights, strict=True
    ):
        for subset in combinations(range(6), chosen):
            held = Fraction(include, whole) if cell in subset else 1 - Fraction(include, whole)
            ways = comb(5, chosen - 1) if cell in subset else comb(5, chosen)
            shares[sum(1 << x for x in subset)] = Fraction(weight, whole) * held / ways
    return shares


@pytest.mark.parametrize("cell", [0, 4])
def test_samples_follow_the_integers_and_not_a_law_a_tenth_off(cell: int) -> None:
    expected = law(cell)
    assert sum(expected.values()) == 1
    payloads = MIXTURE.randomize_many(np.full(DRAWS, cell), SeededRandomness(11))
    counts = np.bincount(payloads[:, 0], minlength=64)
    assert counts.sum() == sum(counts[subset] for subset in expected)

    def distance(shares: dict[int, float]) -> float:
        return sum((counts[y] - DRAWS * p) ** 2 / (DRAWS * p) for y, p in shares.items())

    threshold = chi2.isf(1e-6, len(expected) - 1)
    exact = {subset: float(share) for subset, share in expected.items()}
    assert distance(exact) < threshold
    top = max(exact, key=lambda subset: exact[subset])
    rest = (1 - 0.9 * exact[top]) / (1 - exact[top])
    assert distance({y: p * (0.9 if y == top else rest) for y, p in exact.items()}) > threshold


def test_epsilon_is_that_of_the_enumerated_law() -> None:
    laws = [law(cell) for cell in range(6)]
    worst = max(a[y] / b[y] for a in laws for b in laws for y in a)
    assert Fraction(*MIXTURE.likelihood_ratio()) == worst
    assert prove_epsilon(MIXTURE) == epsilon_of_ratio(worst.numerator, worst.denominator)
    assert prove_epsilon(MIXTURE) == PureEpsilon.of(1)


def test_the_worst_size_decides_about_epsilon() -> None:
    strict = SubsetSelection.for_guarantee(6, 2, PureEpsilon.of(1)).include_weight
    lenient = SubsetMixture(6, 60, (1, 2), (1, (1 << 60) - 1), (1 << 59, strict))
    ratio = Fraction(*lenient.likelihood_ratio())
    assert ratio == max(Fraction(*part.likelihood_ratio()) for part in lenient.parts) == 5


def test_the_alphabet_is_the_sets_of_these_sizes() -> None:
    every = np.arange(256, dtype=np.uint8)[:, None]
    assert set(np.flatnonzero(MIXTURE.in_alphabet(every))) == set(law(0))


def test_it_travels() -> None:
    assert from_plain(AnyRandomizer, to_plain(MIXTURE)) == MIXTURE
    assert (MIXTURE.accumulator_size, MIXTURE.payload_bytes) == (18, 1)


@pytest.mark.parametrize(
    "fields",
    [
        (6, 60, (), (), ()),
        (6, 60, (3, 1), (1 << 59, 1 << 59), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 59, 1 << 58), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 60, 0), (1 << 59, 1 << 59)),
        (6, 60, (1, 6), (1 << 59, 1 << 59), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 59, 1 << 59), (1 << 59,)),
        (6, 60, (1, 3), (1 << 59, 1 << 59), (1 << 57, 1 << 59)),
        (1, 60, (1,), (1 << 60,), (1 << 59,)),
    ],
)
def test_what_is_no_law_is_refused(fields: tuple[object, ...]) -> None:
    with pytest.raises(InvalidValue):
        SubsetMixture(*fields)  # type: ignore[arg-type]
