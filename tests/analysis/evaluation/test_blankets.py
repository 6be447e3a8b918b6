"""What a blanket is said to hide of every randomizer, against the losses of every two values, report by report."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sordino_analysis.guarantees.blanket import law_of_sum
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Coarsened, Dithered, Pair, SeededDirection
from sordino_shared.shuffling.blanket import draw_blanket_report
from sordino_shared.shuffling.laws import loss_of
from sordino_shared.shuffling.profile import delta_of
from tests.randomizers import Law, Sample, every_sample, is_accepted, law_of, outcomes, tilted

BLANKET = 12
POWER = math.exp(0.25)
# Reports of a blanket that are drawn.
DRAWN = 3000
# Values whose laws are compared.
MOST_VALUES = 5


def _blanket(randomizer: AnyRandomizer, laws: list[Law]) -> Law:
    """The law of a blanket's report by its definition: of a uniform type, or a uniform output for the public part."""
    mean: Law = Counter()
    for law in laws:
        for outcome, chance in law.items():
            mean[outcome] += chance / len(laws)
    if isinstance(randomizer, Dithered):
        # Of a uniform type, which is drawn without any knot.
        return _blanket(randomizer.inner, [law_of(randomizer.inner, cell) for cell in range(randomizer.inner.size)])
    if not isinstance(randomizer, Coarsened):
        # Over all types shifts are uniform by themselves.
        return {outcome: chance for outcome, chance in mean.items() if chance}
    public: Law = Counter()
    for outcome, chance in mean.items():
        public[_public(randomizer, outcome)[0]] += chance
    pairs = {outcome: _public(randomizer, outcome) for outcome in mean}
    return {outcome: public[part] / labels for outcome, (part, labels) in pairs.items()}


def _public(randomizer: Coarsened, outcome: bytes) -> tuple[bytes, int]:
    """All of a report but its label, which is its last field, and how many labels there are."""
    number, payload = (len(randomizer.levels) - 1).bit_length(), int.from_bytes(outcome, "little")
    level = payload & ((1 << number) - 1)
    bits = sum(randomizer.field_bits[level][:-1])
    return (payload & ((1 << bits) - 1)).to_bytes(32, "little"), randomizer.levels[level].label.count


def _losses(own: Law, other: Law, blanket: Law) -> list[tuple[float, float]]:
    return [
        (float((own.get(y, Fraction(0)) - Fraction(POWER) * other.get(y, Fraction(0))) / chance), float(chance))
        for y, chance in blanket.items()
    ]


def _sums_to_one(losses: list[tuple[float, float]]) -> list[tuple[float, float]]:
    total = math.fsum(chance for _, chance in losses)
    return [(value, chance / total) for value, chance in losses]


def _is_of_pairs(randomizer: AnyRandomizer) -> bool:
    return isinstance(randomizer.inner if isinstance(randomizer, Dithered) else randomizer, Pair)


@pytest.mark.parametrize("sample", list(every_sample()))
def test_no_pair_is_hidden_less_than_is_said(sample: Sample) -> None:
    randomizer = sample.randomizer
    if _is_of_pairs(randomizer):
        with pytest.raises(InvalidValue, match="one linear question"):
            loss_of(randomizer, POWER)
        return
    if isinstance(randomizer, SeededDirection):
        # Of two opposite values every seed tells them apart: this is the bound itself.
        return
    laws = [law_of(randomizer, cell) for cell in range(randomizer.size)]
    blanket, said = _blanket(randomizer, laws), loss_of(randomizer, POWER)
    apart = list(dict.fromkeys(tuple(sorted(law.items())) for law in laws))[:MOST_VALUES]
    bound = delta_of(said, BLANKET, law_of_sum)
    deltas = [
        delta_of(_sums_to_one(_losses(dict(a), dict(b), blanket)), BLANKET, law_of_sum)
        for a, b in permutations(apart, 2)
    ]
    # The grid of the sum adds up to .1 % to either side.
    assert bound >= max(deltas, default=0.0) * (1 - 1e-3) - 1e-12


@pytest.mark.parametrize("sample", list(every_sample()))
def test_reports_of_a_blanket_have_the_law_that_claims_are_proved_with(sample: Sample) -> None:
    """False alarms: one seed in a million."""
    randomizer, randomness = sample.randomizer, SeededRandomness(5)
    if _is_of_pairs(randomizer):
        with pytest.raises(InvalidValue, match="have no blanket"):
            draw_blanket_report(randomizer, randomness)
        return
    drawn = np.array([list(draw_blanket_report(randomizer, randomness)) for _ in range(DRAWN)], dtype=np.uint8)
    assert drawn.shape[1] == randomizer.payload_bytes
    if isinstance(randomizer, SeededDirection):
        # The bit is fair whatever the seed is.
        law = {bytes([seed, bit]): Fraction(1, 4) for seed in (0, 1) for bit in (0, 1)}
        found = np.column_stack([drawn[:, 15] & 1, drawn[:, 16]])
    else:
        law = _blanket(randomizer, [law_of(randomizer, cell) for cell in range(randomizer.size)])
        found = outcomes(randomizer, 0, drawn)
    assert is_accepted(found, law)
    assert not is_accepted(found, tilted(law, 0.5))
    if not isinstance(randomizer, SeededDirection):
        assert not is_accepted(found, _reports_of_one_value(randomizer))


def _reports_of_one_value(randomizer: AnyRandomizer) -> Law:
    """What a shuffler would add that takes one value for all of its reports, every output possible."""
    law, share = law_of(randomizer, 0), Fraction(1, 1000)
    support = {outcome for cell in range(randomizer.size) for outcome in law_of(randomizer, cell)}
    return {outcome: (1 - share) * law.get(outcome, 0) + share / len(support) for outcome in support}
