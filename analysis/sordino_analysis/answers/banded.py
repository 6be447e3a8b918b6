"""One answer with the range that holds it together with all others, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import amount, span, with_error

# ± says that the value is the middle of its range: it may be off by this part of half the range.
_OFF_CENTRE = 0.1


@dataclass(frozen=True, kw_only=True)
class BandedAnswer:
    """What is counted, its best value, and the ends of the band that holds all answers at once, in `unit`."""

    label: str
    value: float
    low: float
    high: float
    unit: str

    @property
    def reach(self) -> float:
        """Half the width of the band."""
        return (self.high - self.low) / 2

    @property
    def number(self) -> str:
        """ "58.8 % ± 1.6"; both ends where the value is not in the middle of them: "0.4 % (band 0 … 1.9 %)"."""
        if self.reach and abs(self.value - (self.low + self.high) / 2) <= _OFF_CENTRE * self.reach:
            return with_error(self.value, self.reach, self.unit)
        ends = span((self.low, self.high), self.unit, self.reach)
        return f"{amount(self.value, self.unit, self.reach)} (band {ends})"

    @property
    def text(self) -> str:
        """The number of what: "delay ≤ 15 min: 58.8 % ± 1.6"."""
        return f"{self.label}: {self.number}"

    def is_above(self, other: BandedAnswer) -> bool:
        """Whether it is surely the larger one: the bands have no number in common."""
        return self.low > other.high


def banded_answers(table: AnswerTable) -> list[BandedAnswer]:
    """Of each row that has a band: the best guess, or the answer where none was made."""
    columns = (table.cells("label"), table.cells("unit"), table.numbers("value"), table.numbers("best"))
    return [
        BandedAnswer(
            label=str(label), value=value if isnan(best) else best, low=band[0], high=band[1], unit=str(unit or "")
        )
        for label, unit, value, best, band in zip(*columns, table.ends("band_"), strict=True)
        if band is not None
    ]
