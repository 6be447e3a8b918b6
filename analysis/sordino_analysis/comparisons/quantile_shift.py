"""How far a quantile of one arm lies from that of another: which shifts the distribution functions do not refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.difference import Side, Verdict
from sordino_analysis.comparisons.matching import NotComparable, check_same_domain
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_shared.domains import Ordered
from sordino_shared.errors import InvalidValue

# Entries of a workload that are looked at for its steps: 32 MiB of doubles.
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class QuantileShift:
    """The quantile `share` of the right side less that of the left one: `interval` in `unit`, and `bins` in bins.

    An end is infinite where a quantile may lie in a bin without an end. Values within a bin are not told apart, so that
    the verdict is `undecided` unless the quantiles lie in different bins.
    """

    share: float
    level: float
    interval: tuple[float, float]
    bins: tuple[int, int]
    unit: str

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
    attribute = _attribute(left)
    told = [_evidence(side, attribute.bins, share) for side in (left, right)]
    limit = float(ndtri((1 + left.level) / 2)) ** 2
    kept = np.argwhere(np.add.outer(told[0], told[1]) <= limit)
    if not len(kept):
        # Both functions rule out every bin: the least refused pair stands for the set.
        kept = np.argwhere(np.add.outer(told[0], told[1]) == np.add.outer(told[0], told[1]).min())
    ends = [_bin(left, place) for place in range(attribute.bins)]
    shifts = [(ends[y][0] - ends[x][1], ends[y][1] - ends[x][0]) for x, y in kept.tolist()]
    apart = kept[:, 1] - kept[:, 0]
    return QuantileShift(
        share=share,
        level=left.level,
        interval=(min(low for low, _ in shifts), max(high for _, high in shifts)),
        bins=(int(apart.min()), int(apart.max())),
        unit=attribute.unit,
    )


def _attribute(side: Side) -> Ordered:
    attribute, *others = side.workload.held_domain.attributes
    if others or not isinstance(attribute, Ordered):
        raise NotComparable("quantiles are of one ordered attribute: ask for prefix sums of it", attribute)
    if attribute.missing or attribute.other:
        raise NotComparable(
            f"{attribute.name!r} has `missing` or `other`, and quantiles of those with a number are not compared yet",
            attribute,
        )
    return attribute


def _evidence(side: Side, bins: int, share: float) -> Floats:
    """(bins,) t of each bin."""
    steps = _steps(side, bins)
    answers = steps @ np.asarray(sum(weight * part.answers for weight, part in side.parts))
    roots = [(weight, part.root(sampled=True)) for weight, part in side.parts]
    if any(root is None for _, root in roots):
        raise NotComparable("the covariance of the answers is not known: quantiles of them are not compared", side)
    squares = sum(((weight * steps @ root) ** 2).sum(axis=1) for weight, root in roots if root is not None)
    scores = (share - answers) / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    below, above = np.append(scores, -np.inf), np.append(-np.inf, -scores)
    return np.asarray(np.maximum(0.0, np.maximum(below, above)) ** 2)


def _steps(side: Side, bins: int) -> Floats:
    """(bins − 1, Q) that makes the distribution function from the answers: prefix sums, or sums of single bins."""
    workload = side.workload
    if workload.queries * workload.size > _MOST_ENTRIES:
        raise NotComparable("the queries are too many to find the distribution function among them", workload.queries)
    rows = workload.operator.take(np.arange(workload.queries))
    wanted = np.tri(bins - 1, bins)
    places = _places(rows, wanted)
    if places is not None:
        return np.eye(workload.queries)[places]
    places = _places(rows, np.eye(bins))
    if places is None:
        raise NotComparable("the plan does not answer the distribution function: ask for prefix sums or a histogram")
    return np.asarray(wanted @ np.eye(workload.queries)[places])


def _places(rows: Floats, wanted: Floats) -> Sequence[int] | None:
    """The first row that equals each of those wanted; None where one is missing."""
    held = {row.tobytes(): place for place, row in reversed(list(enumerate(np.ascontiguousarray(rows + 0.0))))}
    found = [held.get(np.ascontiguousarray(row).tobytes()) for row in wanted]
    return None if any(place is None for place in found) else [place for place in found if place is not None]


def _bin(side: Side, place: int) -> tuple[float, float]:
    """The ends of a bin, infinite where it has none."""
    [bounds] = bounds_of(side.workload.held_domain, [(place, place)])
    low = -np.inf if bounds.low is None else float(bounds.low)
    return low, np.inf if bounds.high is None else float(bounds.high)
