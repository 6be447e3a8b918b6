"""Single items of a histogram from reports that are random sets of items, by the shipped integers alone.

The label of another item relative to the holder's is even over the G labels, for a matrix drawn evenly or a multiplier
drawn evenly from the field, zero included. So a report holds the user's item with the chance p = m·high/mass and any
other with q = m/G, exactly, at every size of the domain. The sets of a field label are independent for pairs of items
only: variances of single items are exact, those of sums of items are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.evaluation.answer_moments import AnswerMoments, BlanketMoments, ErrorProfile, check_dense
from sordino_analysis.evaluation.coarsened.walsh import transform
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened, ResidueLabel
from sordino_shared.randomizers.coarsened import GridPartition, Level


@dataclass(frozen=True)
class ItemChances:
    """How likely a report holds the user's item, `own`, and any other one."""

    own: Fraction
    other: Fraction

    @classmethod
    def of(cls, randomizer: Coarsened) -> ItemChances:
        """Raises InvalidValue unless reports are sets of single items."""
        level = item_level(randomizer)
        members, labels = level.density
        mass = members * randomizer.high + (labels - members) * randomizer.low
        return cls(Fraction(members * randomizer.high, mass), Fraction(members, labels))

    def decoder(self) -> ScaledHistogramDecoder:
        """The unbiased one: (share − q)/(p − q)."""
        span = self.own - self.other
        return ScaledHistogramDecoder(float(1 / span), float(-self.other / span))

    def variances(self, decoder: ScaledHistogramDecoder) -> tuple[float, float]:
        """(at the item's holder, at another user) of what one report adds to the item's answer."""
        square = Fraction(decoder.slope) ** 2
        return float(square * self.own * (1 - self.own)), float(square * self.other * (1 - self.other))

    def bias(self, decoder: ScaledHistogramDecoder) -> float:
        """The bias of an item's answer at most: the decoder's rounding."""
        slope, offset = Fraction(decoder.slope), Fraction(decoder.offset)
        return float(max(abs(offset + slope * self.other), abs(offset + slope * self.own - 1)))


def item_level(randomizer: Coarsened) -> Level:
    """The one level of a randomizer of single items; raises InvalidValue for any other randomizer."""
    level = randomizer.levels[0]
    grid = level.partition
    whole = isinstance(grid, GridPartition) and set(grid.widths) == {1} and not isinstance(level.label, ResidueLabel)
    if len(randomizer.levels) != 1 or not whole:
        raise InvalidValue("the levels do not tell single items: the decoder is for one level of all items", randomizer)
    return level


@dataclass(frozen=True, eq=False)
class ItemAnswers(AnswerMoments):
    """A histogram, or one item that stands for all of them: Var is `other` + (`own` − `other`)·1[x is the item]."""

    workload: Workload
    randomizer: Coarsened
    decoder: ScaledHistogramDecoder

    def __post_init__(self) -> None:
        if self.workload.symmetry is not Symmetry.TYPES:
            raise InvalidValue("sets of items answer for single items only: ask for a histogram", self.workload)
        if self.workload.domain.shape != self.randomizer.sizes:
            raise InvalidValue(
                f"the randomizer has attributes of {self.randomizer.sizes}, the workload {self.workload.domain.shape}",
                self.randomizer,
            )

    @cached_property
    def chances(self) -> ItemChances:
        """p and q."""
        return ItemChances.of(self.randomizer)

    @cached_property
    def _variances(self) -> tuple[float, float]:
        return self.chances.variances(self.decoder)

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        (own, other), queries = self._variances, self.workload.queries
        mean = other + (own - other) / self.workload.size
        bias = np.full(queries, self.chances.bias(self.decoder))
        return ErrorProfile(np.full(queries, max(own, other)), bias, np.array([mean]), self.workload.query_weights)

    def blanket(self) -> BlanketMoments:
        """An even label holds any item as often as a label of another item does."""
        mean = float(Fraction(self.decoder.offset) + Fraction(self.decoder.slope) * self.chances.other)
        return BlanketMoments(np.full(self.workload.queries, mean), np.full(self.workload.queries, self._variances[1]))

    def mixed_variances(self, histogram: Floats) -> Floats:
        own, other = self._variances
        return np.asarray(other * histogram.sum() + (own - other) * self.workload.operator.matvec(histogram))

    def variance_slopes(self, histogram: Floats) -> Floats:
        own, other = self._variances
        return np.full(self.workload.queries, own - other)

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        own, other = self._variances
        return np.asarray(other + (own - other) * self.workload.operator.dense())

    def decode(self, mean: Floats) -> Floats:
        if len(mean) == 1:
            raise InvalidValue("a table of all items was too large to be kept: ask for items one by one", mean)
        shares = mean[1:].copy()
        transform(shares)
        held = shares[: self.workload.size] / item_level(self.randomizer).label.count
        return self.decoder.answers(self.workload.operator, held)

    def covariance_root(self, histogram: Floats) -> None:
        """None, for any histogram (k,): labels of three items depend on each other."""

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) what a report adds to an answer at least and at most."""
        low = np.full(self.workload.queries, self.decoder.offset)
        return low, low + self.decoder.slope

    def contribution_laws(self, histogram: Floats, queries: list[int]) -> Iterator[ContributionLaw]:
        """A report's two values for each of the `queries`, for holders and others; `histogram` (k,)."""
        values = np.array([self.decoder.offset, self.decoder.offset + self.decoder.slope])
        held = np.array([float(self.chances.own), float(self.chances.other)])
        chances, truth = np.stack([1 - held, held]), np.array([1.0, 0.0])
        for query in queries:
            yield ContributionLaw(values, chances, np.array([histogram[query], 1 - histogram[query]]), truth)
