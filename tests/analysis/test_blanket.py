"""The planner's blankets: the array computations are those that shufflers prove, and tables have known sizes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino_analysis.guarantees.blanket import envelope_of, least_blanket
from sordino_shared.errors import InvalidValue
from sordino_shared.shuffling.claims import claimed
from sordino_shared.shuffling.envelope import envelope
from sordino_shared.shuffling.laws import of_set
from sordino_shared.shuffling.profile import delta_of

DELTA = Fraction(1, 10**6)


def _table(types: int, outputs: int, seed: int) -> np.ndarray:
    table = np.random.default_rng(seed).integers(1, 60, (outputs, types)).astype(float)
    # An output that no value sends, and types of which two are alike.
    table[0] = 0
    table[:, 1] = table[:, 2]
    return table / table.sum(axis=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_envelope_in_arrays_is_the_one_in_plain_python(seed: int, epsilon: float):
    table, power = _table(9, 14, seed), math.exp(epsilon)
    mine, theirs = envelope_of(table, power), envelope(table.T.tolist(), power)
    for blanket in (0, 3, 40):
        # Rounding may decide which value lies on the grid of the sum.
        assert delta_of(mine, blanket) == pytest.approx(delta_of(theirs, blanket), rel=1e-4)


def _haar(types: int, epsilon: float) -> np.ndarray:
    """(2k − 1, k) of prefix sums by Haar wavelets: a row for each half of each dyadic interval, one for all.

    Rows of one level are as likely; a value's own half is e^ε times as likely as the other, other intervals between.
    """
    ratio = math.exp(epsilon)
    rows = [np.ones(types)]
    size = types
    while size > 1:
        for start in range(0, types, size):
            for half in (0, 1):
                row = np.ones(types)
                middle = start + half * size // 2
                row[middle : middle + size // 2] = ratio
                rows.append(row)
        size //= 2
    table = np.array(rows)
    return table / table.sum(axis=0)


def test_the_least_blanket_is_the_least():
    """One report less does not prove the claim, or more than .1 % are not needed."""
    law = envelope_of(_haar(16, 3.0), math.e)
    least = least_blanket(law, DELTA)
    assert claimed(delta_of(law, least)) <= DELTA
    assert claimed(delta_of(law, least - max(1, least >> 9))) > DELTA


# (ε₀, ε, m) of randomized response over 16 values: from sums over all counts, not by a transform.
@pytest.mark.parametrize(("local", "epsilon", "blanket"), [(2.0, 1.0, 33), (1.0, 0.5, 17)])
def test_blankets_of_sets_are_those_of_counted_reports(local: float, epsilon: float, blanket: int):
    law = of_set(16, 1, math.exp(local)).losses(math.exp(epsilon))
    assert least_blanket(law, DELTA) == blanket
    assert claimed(_by_counts(law, blanket)) <= DELTA < claimed(_by_counts(law, blanket - 1))


def _by_counts(law: list[tuple[float, float]], blanket: int) -> float:
    """E[S₊]/(m + 1) over the multinomial counts of the three values of a loss."""
    count = blanket + 1
    (first, p), (second, q), (third, r) = law
    total = 0.0
    for i in range(count + 1):
        for j in range(count + 1 - i):
            k = count - i - j
            value = i * first + j * second + k * third
            if value > 0:
                log = math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(j + 1) - math.lgamma(k + 1)
                total += math.exp(log + i * math.log(p) + j * math.log(q) + k * math.log(r)) * value
    return total / count


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**13), Fraction(1), Fraction(1, 10**16)])
def test_what_no_claim_can_be_is_refused(delta: Fraction):
    with pytest.raises(InvalidValue):
        least_blanket(of_set(16, 1, math.e).losses(1.5), delta)
