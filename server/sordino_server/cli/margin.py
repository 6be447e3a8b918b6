"""A margin as it is written on the command line: a share, per cent, or a number in the unit of the answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sordino_analysis.evaluation.listing import MOST_PUBLISHED_QUERIES
from sordino_analysis.figures import SHARE, amount, chosen
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear import WorkloadSpecification
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.questions.question import WrittenQuestion
from sordino_shared.errors import InvalidValue

# A number with a unit, "%", or nothing behind it.
_MARGIN = re.compile(r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)\s*(?P<unit>\D*)")


@dataclass(frozen=True, kw_only=True)
class Margin:
    """A half width as a share of the answers' scale; `unit` is that of numbers, whose `scale` all answers have."""

    share: float
    scale: float = 1.0
    unit: str | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        if self.unit is None:
            return {"margin": self.share}
        return {"margin": self.share, "margin_in_unit": self.share * self.scale, "unit": self.unit}

    def __str__(self) -> str:
        if self.unit is None:
            return chosen(self.share)
        return f"{amount(self.share * self.scale, self.unit)} ({percent(self.share)} of the range)"


def margin_of(text: str, asked: WrittenQuestion) -> Margin:
    """From a share such as 0.01 or 1%, or a number in the unit of the answers such as "50 ms"."""
    written = _MARGIN.fullmatch(text.strip())
    if written is None:
        raise InvalidValue(f'--margin takes a number such as 0.01 or 1%, or "50 ms", not {text!r}', text)
    number, unit = float(written["number"]), written["unit"]
    numbers = _of_numbers(asked)
    if unit in ("", "%"):
        share = number / (100 if unit else 1)
        return Margin(share=share) if numbers is None else Margin(share=share, scale=numbers[0], unit=numbers[1])
    if numbers is None or unit != numbers[1]:
        asks = "shares or answers of several units" if numbers is None else f"answers in {numbers[1] or 'no unit'}"
        raise InvalidValue(f"--margin is in {unit}, and the workload asks for {asks}: give 0.01 or 1%", text)
    return Margin(share=number / numbers[0], scale=numbers[0], unit=unit)


def _of_numbers(asked: WrittenQuestion) -> tuple[float, str] | None:
    """Scale and unit of the answers, where all are numbers of one scale and unit."""
    if not isinstance(asked, WorkloadSpecification):
        return None
    workload = asked.build()
    if workload.queries > MOST_PUBLISHED_QUERIES:
        return None
    units, (low, high) = set(units_of(workload, workload.varying_rows.tolist())), workload.operator.entry_range()
    scales = set((high - low)[workload.varying_rows].tolist())
    if len(units) > 1 or len(scales) > 1 or units == {SHARE}:
        return None
    return scales.pop(), units.pop()
