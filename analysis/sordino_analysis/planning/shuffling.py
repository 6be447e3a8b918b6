"""What a plan promises to users whose reports are seen only as a multiset."""

from __future__ import annotations

from fractions import Fraction

from sordino_analysis.documents.summary_parts import ShuffledPrivacy
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.counts import clones_within
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.guarantees.shuffled import FAKE_SHARE, Shuffled, honest_floor, shuffled_of
from sordino_analysis.strings.chances import StringChances
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened


def shuffled_guarantee(
    part: DevicePart, reports: int, fake: Fraction = FAKE_SHARE, delta: Fraction = DELTA
) -> Shuffled:
    """Of every user whose report is one of `reports`, at most the share `fake` of which is fake.

    Raises InvalidValue for fewer than one report, a share outside [0, 1) or a δ outside [10⁻¹⁵, 1).
    """
    if reports < 1:
        raise InvalidValue(f"reports must be at least 1, got {reports}", reports)
    clones = for_randomizer(part.randomizer).clones()
    return shuffled_of(part.guarantee, clones, honest_floor(reports, fake), delta)


def shuffled_strings(part: DevicePart, reports: int, fake: Fraction, delta: Fraction) -> Shuffled:
    """The same of a plan that collects strings by levels, whose laws are nearer to each other than those of a kernel.

    Two members of one level have independent labels, so that the laws of a report of it are p − q apart. Two texts have
    other members in some of the levels, by their pieces and whatever hashes collide: all such distances are covered.
    """
    assert isinstance(part.randomizer, Coarsened), "as every plan of strings"
    chances, levels = StringChances.of(part.randomizer), [level.chance for level in part.randomizer.levels]
    apart, ratio = chances.own - chances.other, Fraction(part.randomizer.high, part.randomizer.low)
    clones = clones_within(ratio, apart * min(levels) / sum(levels), apart)
    return shuffled_of(part.guarantee, clones, honest_floor(reports, fake), delta)


def shuffled_privacy(part: DevicePart, reports: int, fake: Fraction) -> ShuffledPrivacy:
    """The same at δ = 10⁻⁶ in numbers, as a summary has it."""
    found = shuffled_guarantee(part, reports, fake)
    return ShuffledPrivacy(
        reports=reports,
        fake=float(fake),
        honest=found.honest,
        epsilon=found.epsilon,
        delta=float(found.delta) if found.amplified else None,
    )
