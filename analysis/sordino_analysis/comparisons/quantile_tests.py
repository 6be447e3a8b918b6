"""Tests of which bin a quantile of one side lies in, from the distribution function of its reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.estimation.answer_on_demand import Answerer, OnDemand, ShareAnswer
from sordino_analysis.estimation.cumulative import bin_ends
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors
from sordino_analysis.questions.linear.boxes import Box, Side
from sordino_analysis.questions.linear.on_demand import Quantile
from sordino_shared.domains import Domain, Ordered

Ends = tuple[float, float]

# Entries of the rows of a distribution function: 32 MiB of doubles.
MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantileTests:
    """The quantile `share` among b bins that end at `ends` (b, 2), in `unit`.

    `values` (b − 1,) are F̂(x) − `share` of each bin but the last, and `errors` (b − 1,) their standard errors about the
    population; none is off by more than `bias` (b − 1,) on average.
    """

    share: float
    unit: str
    ends: Sequence[Ends]
    values: Floats
    errors: Floats
    bias: Floats | float = 0.0

    def against(self) -> Floats:
        """(b,) t(x) = max(0, (s − F̂(x))/se(x), (F̂(x − 1) − s)/se(x − 1))², what says that the quantile is not in x."""
        errors = np.maximum(self.errors, np.finfo(float).tiny)
        short, over = (-self.values - self.bias) / errors, (self.values - self.bias) / errors
        return np.asarray(np.maximum(0.0, np.maximum(np.append(short, -np.inf), np.append(-np.inf, over))) ** 2)


def quantile_tests(
    answerer: Answerer, domain: Domain, question: Quantile, level: float, whom: Mapping[int, int]
) -> QuantileTests:
    """By what a closed round answers, among the users with a number; `whom` maps places of attributes to members.

    Raises NotComparable for too many bins, and EstimationError where the reports do not tell the distribution function.
    """
    attribute = domain.attributes[question.attribute]
    assert isinstance(attribute, Ordered)
    if attribute.bins * domain.size > MOST_ENTRIES:
        raise NotComparable(
            f"{attribute.name!r} has {attribute.bins:,} bins in a domain of {domain.size:,} values, too many to "
            "compare quantiles: ask for prefix sums in the workload, and compare these",
            attribute,
        )
    sides = [(0, size - 1) for size in domain.shape]
    for place, member in whom.items():
        sides[place] = (member, member)
    prefixes = [_box(sides, question.attribute, last) for last in range(attribute.bins - 1)]
    if not whom and attribute.bins == attribute.size:
        # Shares, which every plan of a distribution tells, grids too.
        shares = answerer.shares(prefixes, 1, level)
        return _tests_of_shares(question.share, attribute, shares)
    group = _box(sides, question.attribute, attribute.bins - 1)
    rows: list[BoxSum] = [[(1.0, each), (-question.share, group)] for each in prefixes]
    return tests_of_errors(question.share, attribute, answerer.sums(rows, level), 0.0)


def tests_of_errors(share: float, attribute: Ordered, found: SumErrors, subtracted: float) -> QuantileTests:
    """From the errors of rows (b − 1,) that are F(x) less `share` once `subtracted` is subtracted."""
    return QuantileTests(
        share=share,
        unit=attribute.unit,
        ends=bins_of(attribute),
        values=found.answers - subtracted,
        errors=np.sqrt((found.noise + found.drawn) / found.users),
        bias=found.notable_bias,
    )


def _tests_of_shares(share: float, attribute: Ordered, found: OnDemand) -> QuantileTests:
    answers = [each for each in found.answers if isinstance(each, ShareAnswer)]
    return QuantileTests(
        share=share,
        unit=attribute.unit,
        ends=bins_of(attribute),
        values=np.array([each.uncut for each in answers]) - share,
        errors=np.array([each.population_standard_error for each in answers]),
        bias=found.bias_bound,
    )


def bins_of(attribute: Ordered) -> list[Ends]:
    """The ends of each bin, infinite where it has none."""
    found = [bin_ends(attribute, place) for place in range(attribute.bins)]
    return [(-np.inf if low is None else float(low), np.inf if high is None else float(high)) for low, high in found]


def _box(sides: Sequence[Side], place: int, last: int) -> Box:
    return Box("", (*sides[:place], (0, last), *sides[place + 1 :]))
