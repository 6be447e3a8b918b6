"""What the reports of other devices hide of one that answers a question for strings."""

from __future__ import annotations

from fractions import Fraction

from sordino_analysis.evaluation.randomizers.counts import clones_within
from sordino_analysis.guarantees.shuffled import Shuffled, honest_floor, shuffled_of
from sordino_analysis.strings.chances import StringChances
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened


def shuffled_strings(part: DevicePart, reports: int, fake: Fraction, delta: Fraction) -> Shuffled:
    """Of every user whose report is one of `reports`, at most the share `fake` of which is fake, at this `delta`.

    Two members of one level have independent labels, so that the laws of a report of it are p − q apart. Two texts have
    other members in some of the levels, by their pieces and whatever hashes collide: all such distances are covered.
    """
    assert isinstance(part.randomizer, Coarsened), "as every plan of strings"
    chances, levels = StringChances.of(part.randomizer), [level.chance for level in part.randomizer.levels]
    apart, ratio = chances.own - chances.other, Fraction(part.randomizer.high, part.randomizer.low)
    clones = clones_within(ratio, apart * min(levels) / sum(levels), apart)
    return shuffled_of(part.guarantee, clones, honest_floor(reports, fake), delta)
