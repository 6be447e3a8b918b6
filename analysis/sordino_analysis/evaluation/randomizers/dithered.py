"""Dithered reports: sums of the inner randomizer, and moments that take the rounding to knots into account."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import PlainDecoder
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments, OutputCounts
from sordino_analysis.evaluation.dithering import KnotMoments, MixedMoments, chances_of_types
from sordino_analysis.evaluation.mean_moves import MeanMoves
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, Outputs, ServerHalf
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Dithered

# Chances of types that are listed for all cells: 32 MiB of doubles.
_MOST_CHANCES = 1 << 22


@dataclass(frozen=True, eq=False)
class DitheredHalf(ServerHalf):
    """s is that of the inner randomizer.

    Answers are of a workload over the domain, exact for every cell where these can be listed; or of one over the types
    of the inner randomizer, for queries that are linear between knots: its columns are the values at the knots.
    """

    randomizer: Dithered
    inner: ServerHalf

    @property
    def summed_on_ingest(self) -> IngestSums | None:  # type: ignore[override]
        return self.inner.summed_on_ingest

    @property
    def moments(self) -> NoReturn:
        """Always raises InvalidValue: it takes a workload to know what the values are."""
        raise InvalidValue("the moments of a dithered randomizer are not known apart from a workload", self.randomizer)

    @property
    def counted_outputs(self) -> int | None:
        return self.inner.counted_outputs

    @property
    def reports_at_once(self) -> int:
        return self.inner.reports_at_once

    @property
    def most_reports(self) -> int:
        return self.inner.most_reports

    def add(self, payloads: NDArray[np.uint8], total: Integers) -> None:
        self.inner.add(payloads, total)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return self.inner.accumulate(payloads)

    def check(self, sums: Integers, count: int) -> None:
        self.inner.check(sums, count)

    def units(self) -> Floats:
        return self.inner.units()

    def extremes(self, rows: Floats, reach: float) -> Ends:
        return self.inner.extremes(rows, reach)

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> AnswerMoments:
        return self._for(workload).answer_moments(decoder, workload)

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        return self._for(workload).extreme_contributions(decoder, workload, reach)

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[ContributionLaw | Moments]:
        return self._for(workload).contribution_laws(decoder, workload, histogram, queries)

    def mean_moves(self, decoder: PlainDecoder, workload: Workload, least: Floats, most: Floats) -> MeanMoves | None:
        return self._for(workload).mean_moves(decoder, workload, least, most)

    def output_counts(
        self, decoder: PlainDecoder, workload: Workload, queries: NDArray[np.intp]
    ) -> OutputCounts | None:
        return self._for(workload).output_counts(decoder, workload, queries)

    def _for(self, workload: Workload) -> ServerHalf:
        """What answers of the workload are computed with, by the cells of its domain."""
        shape = workload.domain.shape
        try:
            types = self.randomizer.type_shape(shape)
            self.randomizer.inner.check_domain(types)
        except InvalidValue as error:
            return self._at_knots(shape, error)
        if math.prod(types) * math.prod(shape) > _MOST_CHANCES:
            raise InvalidValue(
                f"the {math.prod(shape):,} cells of the domain are too many to list: ask of the types at the knots",
                shape,
            )
        chances = chances_of_types(self.randomizer, shape)
        return _PlacedHalf(self.randomizer, self.inner, MixedMoments(self.inner.moments, chances), chances)

    def _at_knots(self, types: tuple[int, ...], error: InvalidValue) -> ServerHalf:
        """Where the workload is over the types; raises the `error` where it is over something else."""
        inner, knots = self.randomizer.inner, self.randomizer.knots
        try:
            inner.check_domain(types)
        except InvalidValue:
            raise error from None
        if len(types) != len(knots):
            raise error
        moments = KnotMoments(self.inner.moments, types, knots)
        return _PlacedHalf(inner, self.inner, moments, None)


@dataclass(frozen=True, eq=False)
class _PlacedHalf(ServerHalf):
    """The half for answers of one domain: its moments, and the `chances` (types, k) of types where cells are listed.

    Without them the domain is that of the types, each of which is a class of users whose reports have one law. That
    leaves out at most (Δ/2)² of a variance for members between two types that are Δ apart in an answer, and is used
    only for how normal an error is.
    """

    randomizer: AnyRandomizer
    inner: ServerHalf
    law: AccumulatorMoments
    chances: Floats | None

    @property
    def moments(self) -> AccumulatorMoments:
        return self.law

    @property
    def mean_reach(self) -> float | None:
        return self.inner.mean_reach

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return self.inner.accumulate(payloads)

    def extremes(self, rows: Floats, reach: float) -> Ends:
        return self.inner.extremes(rows, reach)

    def _outputs(self) -> Outputs | None:
        outputs = self.inner._outputs()
        if outputs is None or self.chances is None:
            return outputs
        statistics, kernel = outputs
        return statistics, kernel @ self.chances
