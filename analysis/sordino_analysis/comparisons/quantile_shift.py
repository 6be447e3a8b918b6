"""How far a quantile of one arm lies from that of another: which shifts the distribution functions do not refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.difference import Side, Verdict
from sordino_analysis.comparisons.matching import NotComparable, check_same_domain
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.questions.linear.numbers.building import AskedNumbers
from sordino_analysis.questions.linear.numbers.places import NumberPlace
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_shared.domains import Domain, Ordered
from sordino_shared.errors import InvalidValue

# Entries of a workload that are looked at for its steps: 32 MiB of doubles.
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class QuantileShift:
    """The quantile `share` of the right side less that of the left one: `interval` in `unit`, and `bins` in bins.

    An end is infinite where a quantile may lie in a bin without an end. Values within a bin are not told apart, so that
    the verdict is `undecided` unless the quantiles lie in different bins.
    """

    attribute: str
    share: float
    level: float
    interval: tuple[float, float]
    bins: tuple[int, int]
    unit: str

    @property
    def label(self) -> str:
        """What is compared, as people read it."""
        return f"{self.share:g} quantile of {self.attribute}"

    @property
    def verdict(self) -> Verdict:
        """Whether the right quantile is surely higher or lower."""
        return "higher" if self.bins[0] > 0 else "lower" if self.bins[1] < 0 else "undecided"


def quantile_shift(left: Side, right: Side, share: float) -> QuantileShift:
    """The shifts δ with min over x of t_left(x) + t_right(x + δ) ≤ χ²₁ at the sides' level.

    t(x) = max(0, (s − F̂(x))/se(x), (F̂(x − 1) − s)/se(x − 1))² is what says that the quantile s is not in bin x; errors
    are about the populations that both sides are samples of. Raises NotComparable for sides without the distribution
    function of one ordered attribute, and InvalidValue for a share that is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise InvalidValue(f"a quantile lies between 0 and 1, such as .5, not {share}", share)
    check_same_domain(left.workload.held_domain, right.workload.held_domain)
    steps = [_steps(side) for side in (left, right)]
    attribute = steps[0].attribute
    if attribute != steps[1].attribute:
        raise NotComparable(f"the quantiles of {attribute.name!r} are told between other bins on the two sides", share)
    told = [_evidence(side, own, share) for side, own in zip((left, right), steps, strict=True)]
    limit = float(ndtri((1 + left.level) / 2)) ** 2
    refused = np.add.outer(told[0], told[1])
    # Where both functions rule out every bin the least refused pair stands for the set.
    kept = np.argwhere(refused <= max(limit, refused.min()))
    ends = np.array([_bin(attribute, place) for place in range(attribute.bins)])
    apart = kept[:, 1] - kept[:, 0]
    return QuantileShift(
        attribute=attribute.name,
        share=share,
        level=left.level,
        interval=(
            float((ends[kept[:, 1], 0] - ends[kept[:, 0], 1]).min()),
            float((ends[kept[:, 1], 1] - ends[kept[:, 0], 0]).max()),
        ),
        bins=(int(apart.min()), int(apart.max())),
        unit=attribute.unit,
    )


def quantile_shifts(
    left: Side, right: Side, shares: Sequence[float], pairs: int = 1
) -> list[tuple[QuantileShift, QuantileShift]]:
    """The shift of each quantile, and the one at the level that all hold at once by Bonferroni's inequality.

    So do those of as many `pairs` of sides. Raises as `quantile_shift` does.
    """
    banded = 1 - (1 - left.level) / (max(len(shares), 1) * pairs)
    wide = [replace(side, level=banded) for side in (left, right)]
    return [(quantile_shift(left, right, share), quantile_shift(wide[0], wide[1], share)) for share in shares]


@dataclass(frozen=True, eq=False)
class _Steps:
    """The distribution function of an attribute: answers to the queries `rows`, or with `summed` their running sums."""

    attribute: Ordered
    rows: Sequence[int]
    summed: bool = False


def _steps(side: Side) -> _Steps:
    """How the answers of a side make the distribution function: prefix sums, or sums of single bins."""
    workload = side.workload
    if isinstance(workload.published, NumberQueries):
        asked = AskedNumbers(workload.held_domain, workload.published)
        if not asked.is_product:
            return _of_measures(asked)
    attribute, *others = workload.held_domain.attributes
    if others or not isinstance(attribute, Ordered):
        raise NotComparable(
            "quantiles are compared of one ordered attribute: ask for its quantiles or prefix sums, alone", attribute
        )
    _check_whole(attribute, has_others=attribute.missing or attribute.other)
    if workload.queries * workload.size > _MOST_ENTRIES:
        raise NotComparable(
            f"{attribute.name!r} has {attribute.bins} bins, quantiles of 2,048 at most are compared: use fewer",
            workload.queries,
        )
    rows, bins = workload.operator.take(np.arange(workload.queries)), attribute.bins
    if (found := _places(rows, np.tri(bins - 1, bins))) is not None:
        return _Steps(attribute, found)
    if (found := _places(rows, np.eye(bins)[:-1])) is not None:
        return _Steps(attribute, found, summed=True)
    raise NotComparable("the plan does not answer the distribution function: ask for prefix sums or a histogram")


def _of_measures(asked: AskedNumbers) -> _Steps:
    """The quantiles that stand beside other measures of numbers, of all users."""
    numbers = [number for number in asked.numbers if number.asks("quantile")]
    if len(numbers) != 1:
        has = "no attribute has quantiles" if not numbers else "several attributes have quantiles"
        raise NotComparable(f"{has}, and those of one are compared: ask for the quantiles of one", asked.queries)
    [number] = numbers
    _check_whole(number.told, has_others=bool(number.absent))
    return _Steps(number.told, _below(asked, number))


def _below(asked: AskedNumbers, number: NumberPlace) -> Sequence[int]:
    keys = [row.key for row in asked.rows]
    return [place for place, key in enumerate(keys) if key[:2] == (number.place, "below") and key[3] is None]


def _check_whole(attribute: Ordered, *, has_others: bool) -> None:
    if has_others:
        raise NotComparable(
            f"{attribute.name!r} has `missing` or `other`, and quantiles of those with a number are not compared yet",
            attribute,
        )


def _evidence(side: Side, steps: _Steps, share: float) -> Floats:
    """(bins,) t of each bin."""
    rows = list(steps.rows)
    answers = np.asarray(sum(weight * part.answers[rows] for weight, part in side.parts))
    if steps.summed:
        answers, squares = answers.cumsum(), _of_sums(side, rows)
    else:
        parts = [(weight, part.noise[rows] + side.unasked * part.drawn[rows]) for weight, part in side.parts]
        squares = np.asarray(sum(weight**2 * variances for weight, variances in parts))
    bias, errors = bias_of(side), np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    below = np.append((share - answers - bias) / errors, -np.inf)
    above = np.append(-np.inf, (answers - share - bias) / errors)
    return np.asarray(np.maximum(0.0, np.maximum(below, above)) ** 2)


def bias_of(side: Side) -> float:
    """No answer's bias exceeds it."""
    return float(sum(abs(weight) * part.bias for weight, part in side.parts))


def _of_sums(side: Side, rows: Sequence[int]) -> Floats:
    """(bins − 1,) variances of running sums of answers."""
    roots = [(weight, part.root(sampled=True)) for weight, part in side.parts]
    if any(root is None for _, root in roots):
        raise NotComparable(
            "the covariances of these shares are not known: ask for quantiles or prefix sums in place of a histogram",
            side,
        )
    sums = [weight * root[list(rows)].cumsum(axis=0) for weight, root in roots if root is not None]
    return np.asarray(sum((each**2).sum(axis=1) for each in sums))


def _places(rows: Floats, wanted: Floats) -> Sequence[int] | None:
    """The first row that equals each of those wanted; None where one is missing."""
    held = {row.tobytes(): place for place, row in reversed(list(enumerate(np.ascontiguousarray(rows + 0.0))))}
    found = [held.get(np.ascontiguousarray(row).tobytes()) for row in wanted]
    return None if any(place is None for place in found) else [place for place in found if place is not None]


def _bin(attribute: Ordered, place: int) -> tuple[float, float]:
    """The ends of a bin, infinite where it has none."""
    [bounds] = bounds_of(Domain((attribute,)), [(place, place)])
    low = -np.inf if bounds.low is None else float(bounds.low)
    return low, np.inf if bounds.high is None else float(bounds.high)
