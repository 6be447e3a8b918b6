"""What a plan promises to users whose reports are seen only as a multiset."""

from __future__ import annotations

from fractions import Fraction

from sordino_analysis.documents.summary_parts import ShuffledPrivacy
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.guarantees.shuffled import FAKE_SHARE, Shuffled, honest_floor, shuffled_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart


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
