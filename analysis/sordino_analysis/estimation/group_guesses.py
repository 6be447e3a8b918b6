"""Best guesses at shares in a group: ratios in the best guess at the histogram, which intervals are widened to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sordino_analysis.estimation.answer_on_demand import Answerer, RatioAnswer, ShareAnswer
from sordino_analysis.questions.linear.boxes import Box


def guessed_ratios(answerer: Answerer, group: ShareAnswer, joints: Sequence[Box], level: float) -> list[float | None]:
    """The share of each box within the group over that of the `group` in the best guess; None where there is none."""
    whole = group.best
    if not whole:
        return [None] * len(joints)
    found = answerer.shares(joints, len(joints), level).answers
    shares = [each.best if isinstance(each, ShareAnswer) else None for each in found]
    return [None if share is None else min(share / whole, 1.0) for share in shares]


def with_guess(found: RatioAnswer, guess: float | None) -> RatioAnswer:
    """With the best guess, which interval and band are widened to; as it is where there is no number or no guess."""
    if guess is None or found.interval is None:
        return found
    interval = min(found.interval[0], guess), max(found.interval[1], guess)
    band = None if found.band is None else (min(found.band[0], interval[0]), max(found.band[1], interval[1]))
    return replace(found, best=guess, interval=interval, band=band)
