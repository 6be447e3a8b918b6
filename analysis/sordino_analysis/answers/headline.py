"""What a list shows of an estimate without reading it: sentences, one number with its error, and a small picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sordino_analysis.answers.banded import BandedAnswer, banded_answers
from sordino_analysis.answers.findings import Findings
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE

# A list has 60 of them; what would be longer loses its picture first, then its last sentences.
MOST_BYTES = 2000
# As many bars as a tile has room for.
_MOST_BARS = 3
# A line through so many points looks like one through all of them, at the 300 pixels of a tile.
_MOST_STEPS = 24
# What a tile shows of a label in a line.
_LONGEST_LABEL = 60
# Sentences name up to four labels, which may have hundreds of characters each.
_LONGEST_SENTENCE = 240
# Of a share: a hundredth of a point, which no picture shows.
_DIGITS = 4

# A label or the end of a step, the best value, and both ends of its band.
HeadlinePoint = tuple[str | float, float, float, float]


class Headline(BaseModel):
    """The sentences of `Findings`, `number` of `label`, and the largest shares or up to 24 steps as `points`."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    sentences: tuple[str, ...] = ()
    number: str | None = None
    label: str | None = None
    too_few: bool = False
    more: int | None = None
    users: int | None = None
    form: Literal["bars", "steps"] | None = None
    points: tuple[HeadlinePoint, ...] = ()

    def content(self) -> str:
        """As JSON of at most `MOST_BYTES`."""
        made = self
        while len(text := made.model_dump_json(exclude_defaults=True).encode()) > MOST_BYTES:
            shorter = {"sentences": made.sentences[:-1]} if not made.points else {"form": None, "points": ()}
            made = made.model_copy(update=shorter)
        return text.decode()


def headline_of(table: AnswerTable, found: Findings | None) -> Headline:
    """Of a table with what is `found` in it; the number is that of the first sentence, or the table's first one."""
    banded = banded_answers(table)
    answer = found.answer if found is not None and found.answer is not None else (banded[0] if banded else None)
    form, points = _picture(table, banded)
    users = table.terms.get("users")
    return Headline(
        sentences=tuple(_cut(each, _LONGEST_SENTENCE) for each in (() if found is None else found.lines)),
        number=None if answer is None else answer.number,
        label=None if answer is None else _cut(answer.label, _LONGEST_LABEL),
        too_few=found is not None and found.too_few,
        more=None if found is None else found.more,
        users=users if isinstance(users, int) else None,
        form=form,
        points=points,
    )


def _picture(
    table: AnswerTable, banded: Sequence[BandedAnswer]
) -> tuple[Literal["bars", "steps"] | None, tuple[HeadlinePoint, ...]]:
    """The largest shares of a histogram, or the steps of a distribution; nothing of other tables."""
    kinds = set(table.cells("kind"))
    if len(banded) < max(2, len(table)) or {each.unit for each in banded} != {SHARE}:
        return None, ()
    if kinds == {"prefix"}:
        ends = _ends_of_steps(table)
        if ends is None:
            return None, ()
        picked = sorted({round(place * (len(ends) - 1) / (_MOST_STEPS - 1)) for place in range(_MOST_STEPS)})
        return "steps", tuple(_point(ends[place], banded[place]) for place in picked)
    if kinds == {"histogram"}:
        largest = sorted(banded, key=lambda each: -each.value)[:_MOST_BARS]
        return "bars", tuple(_point(_cut(each.label, _LONGEST_LABEL), each) for each in largest)
    return None, ()


def _ends_of_steps(table: AnswerTable) -> list[float] | None:
    """Where the steps end, of one attribute whose steps all have an end."""
    attributes = {each.attribute for bounds in table.bounds() for each in bounds}
    if len(attributes) != 1:
        return None
    ends = [cell for cell in table.cells(f"{attributes.pop()}_high") if isinstance(cell, int | float)]
    return [float(end) for end in ends] if len(ends) == len(table) else None


def _point(place: str | float, of: BandedAnswer) -> HeadlinePoint:
    return place, round(of.value, _DIGITS), round(of.low, _DIGITS), round(of.high, _DIGITS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
