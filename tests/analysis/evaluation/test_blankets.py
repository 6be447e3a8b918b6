"""What a blanket is said to hide of every randomizer, against the losses of every two values, report by report."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest

from sordino_analysis.guarantees.blanket import law_of_sum
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Coarsened, Pair, SeededDirection
from sordino_shared.shuffling.laws import loss_of
from sordino_shared.shuffling.profile import delta_of
from tests.randomizers import Law, Sample, every_sample, law_of

BLANKET = 12
POWER = math.exp(0.25)
# Values whose laws are compared.
MOST_VALUES = 5


def _blanket(randomizer: AnyRandomizer, laws: list[Law]) -> Law:
    """The law of a blanket's report by its definition: of a uniform type, or a uniform output for the public part."""
    mean: Law = Counter()
    for law in laws:
        for outcome, chance in law.items():
            mean[outcome] += chance / len(laws)
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


@pytest.mark.parametrize("sample", list(every_sample()))
def test_no_pair_is_hidden_less_than_is_said(sample: Sample) -> None:
    randomizer = sample.randomizer
    if isinstance(randomizer, Pair):
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
