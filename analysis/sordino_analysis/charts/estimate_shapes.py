"""What the answers of an estimate are about decides their picture: ranges, marginals, or a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_analysis.figures import SHARE
from sordino_analysis.percentages import percent
from sordino_shared.errors import InvalidValue

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class EstimateChart:
    """Q answers in order with `intervals` that hold one by one and `bands` that hold at once, at `level`.

    All are in one `answer_unit`, "share" for shares of users, "" for several. `kinds` and `bounds` say what each is
    about; without them the answers are drawn as a list.

    Raises InvalidValue unless `labels`, `values`, `intervals` and `bands` have the same length Q ≥ 1.
    """

    title: str
    subtitle: str
    level: float
    labels: Sequence[str]
    values: Sequence[float]
    intervals: Sequence[Interval]
    bands: Sequence[Interval]
    answer_unit: str = SHARE
    kinds: Sequence[str] = ()
    bounds: Sequence[Sequence[AttributeBounds]] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.labels), len(self.values), len(self.intervals), len(self.bands)}
        if len(lengths) != 1 or not self.values:
            raise InvalidValue(f"a chart needs four series of one length, got lengths {sorted(lengths)}", lengths)
        if (len(self.kinds), len(self.bounds)) not in ((0, 0), (len(self.values),) * 2):
            raise InvalidValue("a chart needs kind and bounds of every answer or of none", len(self.bounds))

    @property
    def level_text(self) -> str:
        """.95 as "95 %"."""
        return percent(self.level)

    @cached_property
    def attribute(self) -> str | None:
        """The one attribute that all answers are about; None where they are about several."""
        return _only({bound.attribute for bounds in self.bounds for bound in bounds})

    @cached_property
    def unit(self) -> str | None:
        """The unit of that attribute's numbers."""
        return _only({bound.unit for bounds in self.bounds for bound in bounds if bound.unit})

    @property
    def answer_axis(self) -> str:
        """The title of the axis of the answers themselves."""
        return "share of users" if self.answer_unit == SHARE else _with_unit("answer", self.answer_unit or None)

    @property
    def axis(self) -> str:
        """The title of the axis along the answers."""
        return "query" if self.attribute is None else _with_unit(self.attribute, self.unit)

    @property
    def is_of_ranges(self) -> bool:
        """Whether every answer is the share of a range of one ordered attribute."""
        return set(self.kinds) == {"ranges"} and self.attribute is not None and all(map(_is_range, self.bounds))

    @property
    def is_of_marginals(self) -> bool:
        """Whether the answers are cells of the histograms of several sets of attributes."""
        cells = bool(self.bounds) and all(bounds and all(map(_is_cell, bounds)) for bounds in self.bounds)
        sets = {tuple(bound.attribute for bound in bounds) for bounds in self.bounds}
        return cells and len(sets) > 1 and set(self.kinds) <= {"marginal", "histogram"}

    @property
    def is_distribution(self) -> bool:
        """Whether the answers are a distribution function, whose line through all of them has a meaning."""
        return set(self.kinds) == {"prefix"} and self.attribute is not None


def _is_range(bounds: Sequence[AttributeBounds]) -> bool:
    return len(bounds) <= 1 and all(bound.label is None for bound in bounds)


def _is_cell(bound: AttributeBounds) -> bool:
    return bound.label is not None or bound.low is not None or bound.high is not None


def _with_unit(attribute: str, unit: str | None) -> str:
    return attribute if unit is None else f"{attribute} in {unit}"


def _only(values: set[str | None] | set[str]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None
