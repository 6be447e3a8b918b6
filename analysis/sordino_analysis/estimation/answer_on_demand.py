"""What an answer on demand says, and what the kinds of plans have in common that give one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_answers
from sordino_analysis.estimation.fieller import RatioSet
from sordino_analysis.estimation.linear_estimate import LinearEstimate
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors
from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.on_demand import BoxKind, Quantile

Ends = tuple[float, float]
Span = tuple[float | None, float | None]
Bins = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class ShareAnswer:
    """The share of the users in a box; `value` and all ends lie in [0, 1], and `uncut` is the unbiased answer.

    `interval` holds it where the question was fixed before anybody looked, `band` also where it was chosen by looking:
    the bands of all questions of its kind hold at once. `best` is the share in the best guess at the
    histogram; for single items that are counted in the log the nearest shares of those that are asked together; None
    for rectangles of grids.
    """

    unit: ClassVar[str] = SHARE
    label: str
    value: float
    uncut: float
    standard_error: float
    interval: Ends
    band: Ends
    population_standard_error: float
    population_interval: Ends
    best: float | None


@dataclass(frozen=True, kw_only=True)
class QuantileAnswer:
    """The least member of an ordered attribute that a share of the users are at or below.

    `bin` names the one of the best guess, which the interval holds, and `value` is (low, high] of it in the
    attribute's unit: None at an open end, and twice the same number for an integer. `interval`, `band` and
    `population_interval` reach from the low end of the first member that cannot be excluded to the high end of the
    last, and the interval lies within the band, which holds all quantiles at once. `beyond` says that so few users
    have a number that none of the members is reached; an end that may be there is None too, and then the `sentence`
    says so.
    """

    label: str
    unit: str
    bin: str
    value: Span
    interval: Span
    band: Span
    population_interval: Span
    beyond: bool
    sentence: str | None = None


@dataclass(frozen=True, kw_only=True)
class GroupTerms:
    """What an answer is `given`: a group of the users, its `group` share of all of them, and the interval of that.

    With `enough_users` users four of five campaigns show that the group is not empty; None where this one does.
    `sentence` says so in words where there is no number.
    """

    given: str
    group: float
    group_interval: Ends
    enough_users: int | None
    sentence: str | None


@dataclass(frozen=True, kw_only=True)
class RatioAnswer(GroupTerms):
    """The answer among the users of a group: `value` is N/D of the answer N within the group and its share D.

    Intervals are Fieller's, for a question and a group that were fixed before anybody looked; the band holds all
    questions that were asked together, and is None where it has no ends. Where the group may be empty there is no
    number, and the ratios that are `not_ruled_out` have no ends. `best` is the ratio in the best guess at the
    histogram, which interval and band hold; None where there is no number or no such guess.
    """

    label: str
    unit: str
    value: float | None
    standard_error: float | None
    interval: Ends | None
    band: Ends | None
    population_standard_error: float | None
    population_interval: Ends | None
    not_ruled_out: RatioSet
    best: float | None = None


@dataclass(frozen=True, kw_only=True)
class GroupQuantileAnswer(GroupTerms, QuantileAnswer):
    """A quantile among the users of a group."""


@dataclass(frozen=True, kw_only=True)
class MeanAnswer:
    """The mean of an attribute's numbers in its `unit`, among the users of a group if one is `given`.

    `group` is the share of all users who are in the group and have a number. Where that may be 0 there is no mean, and
    `sentence` says how many users would be enough.
    """

    label: str
    unit: str
    value: float | None
    uncut: float | None
    standard_error: float | None
    interval: Ends | None
    band: Ends | None
    population_standard_error: float | None
    population_interval: Ends | None
    sentence: str | None
    enough_users: int | None
    given: str | None = None
    group: float | None = None
    group_interval: Ends | None = None


Answer = ShareAnswer | QuantileAnswer | RatioAnswer | MeanAnswer


@dataclass(frozen=True)
class Quantiles:
    """A bin of the best guess, and the first and last bin of its intervals, which hold it but for the last.

    The one for the population need not, since its errors are taken at other shares.
    """

    value: int
    interval: Bins
    band: Bins
    population: Bins


@dataclass(frozen=True, kw_only=True)
class OnDemand:
    """Answers to questions of one kind; `compared` is the number of questions that the band holds at once.

    `no_best` says why shares have no best guess, where they have none.
    """

    answers: tuple[Answer, ...]
    compared: int
    users: int
    level: float
    bias_bound: float
    warnings: tuple[str, ...]
    no_best: str | None = None

    def columns(self) -> dict[str, list[Cell]]:
        """The answers under the names of docs/results.md."""
        found = cells_of_answers(self.answers)
        if self.no_best is not None:
            found["no_best"] = [None if number is None else self.no_best for number in found["value"]]
        quantiles = [each for each in self.answers if isinstance(each, QuantileAnswer)]
        if not quantiles:
            return found
        low, high = ([each.value[end] for each in quantiles] for end in (0, 1))
        del found["value"]
        members: list[Cell] = [each.bin for each in quantiles]
        units: list[Cell] = [each.unit or None for each in quantiles]
        return found | {"member": members, "value_lower": [*low], "value_upper": [*high], "unit": units}


class Answerer(Protocol):
    """Answers questions about a closed round that is decoded already."""

    def compared(self, kind: BoxKind) -> int:
        """How many questions of the kind this plan can answer; raises EstimationError where it is none."""

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        """The users' shares in boxes, with a band for `compared` questions; raises EstimationError."""

    def quantiles(self, questions: Sequence[Quantile], level: float) -> OnDemand:
        """Quantiles of ordered attributes; raises EstimationError."""

    def sums(self, rows: Sequence[BoxSum], level: float) -> SumErrors:
        """Sums of boxes with their errors; raises EstimationError where the reports do not determine one."""

    def combinations(self, rows: Sequence[BoxSum], labels: Sequence[str], level: float) -> LinearEstimate:
        """The same with intervals; raises EstimationError where the reports do not determine one."""

    def group_quantile(self, question: Quantile, group: Box, level: float) -> Quantiles:
        """The bins that may be the quantile among the users of a group; raises EstimationError."""


def share_answers(labels: Sequence[str], estimate: LinearEstimate, rows: Sequence[int]) -> tuple[ShareAnswer, ...]:
    """The `rows` of an estimate with these labels."""
    return tuple(
        ShareAnswer(
            label=label,
            value=float(estimate.value[row]),
            uncut=float(estimate.unbiased[row]),
            standard_error=float(estimate.standard_error[row]),
            interval=(float(estimate.lower[row]), float(estimate.upper[row])),
            band=(float(estimate.band_lower[row]), float(estimate.band_upper[row])),
            population_standard_error=float(estimate.population_standard_error[row]),
            population_interval=(float(estimate.population_lower[row]), float(estimate.population_upper[row])),
            best=float(estimate.best[row]),
        )
        for label, row in zip(labels, rows, strict=True)
    )


def marginal_cells(shape: Sequence[int], width: int | None = None) -> int:
    """Cells of the marginals of all sets of 1 to `width` attributes, or of any number of them."""
    if width is None:
        return math.prod(size + 1 for size in shape) - 1
    sums = [1] + [0] * width
    for size in (size for size in shape if size > 1):
        for involved in range(width, 0, -1):
            sums[involved] += sums[involved - 1] * size
    return sum(sums[1:])
