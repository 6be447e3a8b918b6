"""The pictures of tiles: of a histogram its largest shares, of a distribution its curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sordino_analysis.answers.banded import BandedAnswer
from sordino_analysis.answers.headline import Headline
from sordino_analysis.figures import SHARE
from sordino_server.console.inline_pictures import TILE, Bars, Curve, bars, curve
from sordino_server.questions.schemas import QuestionTile


@dataclass(frozen=True, kw_only=True)
class DrawnTile:
    """A tile with the picture of its headline, and how many more devices would help where there are too few."""

    tile: QuestionTile
    more: int | None = None
    bars: Bars | None = None
    curve: Curve | None = None

    @classmethod
    def of(cls, tile: QuestionTile) -> Self:
        """The tile, drawn."""
        told = tile.headline
        of_bars, of_steps = _pictures(told)
        return cls(tile=tile, more=None if told is None else told.more, bars=of_bars, curve=of_steps)


def _pictures(told: Headline | None) -> tuple[Bars | None, Curve | None]:
    if told is None or not told.points:
        return None, None
    if told.form == "steps":
        return None, curve([(float(end), value, low, high) for end, value, low, high in told.points], TILE, "")
    shown = [
        BandedAnswer(label=str(label), value=value, low=low, high=high, unit=SHARE)
        for label, value, low, high in told.points
    ]
    return bars(shown), None
