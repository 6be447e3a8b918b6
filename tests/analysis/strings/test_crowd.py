"""What other devices hide of one that answers: how far apart the laws of two texts are, and that all pairs count."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from sordino_analysis.evaluation.randomizers.counts import clones_within
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.guarantees.shuffled import honest_floor, shuffled_of
from sordino_analysis.strings.chances import StringChances
from sordino_analysis.strings.crowd import shuffled_strings
from tests.drawn_strings import DrawnStrings

FAKE, DELTA = Fraction(1, 10), Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_two_members_of_a_level_are_p_less_q_apart(epsilon: str) -> None:
    """Over all pairs of labels, which are independent and even: the sum of what one law has more than the other."""
    randomizer = DrawnStrings(epsilon=epsilon).strings.randomizer
    chances = StringChances.of(randomizer)
    labels, low, high = range(1 << chances.label_bits), randomizer.low, randomizer.high
    mass = high + (len(labels) - 1) * low

    def law(own: int) -> list[Fraction]:
        return [Fraction(high if label == own else low, mass) for label in labels]

    laws = [law(own) for own in labels]
    pairs = itertools.product(laws, laws)
    apart = sum(sum(max(a - b, Fraction(0)) for a, b in zip(one, two, strict=True)) for one, two in pairs)
    assert apart / len(labels) ** 2 == chances.own - chances.other


def test_the_crowd_hides_the_texts_that_are_farthest_apart_and_all_nearer_ones() -> None:
    part = DrawnStrings(epsilon="4", depth=48).device
    found = shuffled_strings(part, 100_000, FAKE, DELTA)
    # The figure of the design: .083 at ε = 4 and 100,000 reports of which a tenth is fake.
    assert found.epsilon == pytest.approx(0.083, abs=0.0005)
    randomizer = part.randomizer
    chances, ratio = StringChances.of(randomizer), Fraction(randomizer.high, randomizer.low)  # type: ignore[arg-type]
    for share in (1, Fraction(3, 4), Fraction(1, 4)):
        pair = (Clones.of_pair(ratio, (chances.own - chances.other) * share),)
        assert shuffled_of(part.guarantee, pair, honest_floor(100_000, FAKE), DELTA).epsilon <= found.epsilon


def test_groups_leave_no_distance_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[tuple[Fraction, Fraction]] = []
    monkeypatch.setattr(Clones, "of_pairs", lambda ratio, least, most: ranges.append((least, most)))
    least, most = Fraction(1, 100), Fraction(1, 5)
    farthest, *_ = clones_within(Fraction(9), least, most)
    assert farthest == Clones.of_pair(Fraction(9), most)
    assert (ranges[0][1], ranges[-1][0]) == (most, least)
    assert [low for low, _ in ranges[:-1]] == [high for _, high in ranges[1:]]
    assert all(low < high for low, high in ranges)
