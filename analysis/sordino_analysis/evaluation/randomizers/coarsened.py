"""Coarsened randomizers: for each level its reports, and how many of them hold each value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import GridDecoder, PlainDecoder, ScaledHistogramDecoder
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.coarsened.tables import add_reports, check_table, is_walsh, split_sums
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments
from sordino_analysis.evaluation.grids.listing import form_of, listed_by_grids
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.item_answers import ItemAnswers
from sordino_analysis.evaluation.mean_moves import MeanMoves
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.evaluation.randomizers.server_half import MAX_SUM, Ends, Integers, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import check_length, check_reports
from sordino_analysis.questions.linear import Workload
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened


@dataclass(frozen=True, eq=False)
class CoarsenedHalf(ServerHalf):
    """s = for each level 1 if the report is of it, and the table of what it holds, see `evaluation.coarsened`."""

    # Adding up a few reports of every level costs as much as adding up many, so it is done once, from the log.
    summed_on_ingest: ClassVar[IngestSums | None] = None
    randomizer: Coarsened

    @property
    def moments(self) -> NoReturn:
        """Moments depend on which values a question adds up; they are not those of a table of all outputs.

        Always raises InvalidValue.
        """
        raise InvalidValue("the moments of a coarsened randomizer are not known apart from a decoder", self.randomizer)

    def add(self, payloads: NDArray[np.uint8], total: Integers) -> None:
        tables, starts = [table for _, table in split_sums(self.randomizer, total)], self._starts()
        for number, reports in unpack_coarsened(self.randomizer, payloads):
            total[starts[number]] += len(reports)
            add_reports(self.randomizer.levels[number], self.randomizer.sizes, reports, tables[number])

    def check(self, sums: Integers, count: int) -> None:
        """Count the reports of each level: a whole number of them, none to all, holds each value.

        Raises InvalidValue too where no table is kept: items are then counted in the log itself, which sums do not
        have. `sums` (p,).
        """
        check_length(sums, self.randomizer.accumulator_size)
        if not all(self.randomizer.table_sizes):
            raise InvalidValue(
                "sums of this plan are not taken from elsewhere: its answers are counted in the reports themselves",
                count,
            )
        found = 0
        for level, (reports, table) in zip(self.randomizer.levels, split_sums(self.randomizer, sums), strict=True):
            check_table(level, reports, table)
            found += reports
        check_reports(found, count)

    @property
    def most_reports(self) -> int:
        """A report adds at most G entries of at most G to a Walsh table, which all add up in its transform."""
        labels = (level.label.count for level in self.randomizer.levels if is_walsh(level))
        return MAX_SUM // max(labels, default=1) ** 2

    def _starts(self) -> list[int]:
        """Where each level's sums begin."""
        return [0, *accumulate(1 + size for size in self.randomizer.table_sizes)]

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return self.accumulate(payloads)

    def listed(self, workload: Workload) -> Workload:
        return listed_by_grids(workload)

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> AnswerMoments:
        return self._answers(decoder, workload)

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        return self._answers(decoder, workload).extremes()

    def mean_moves(self, decoder: PlainDecoder, workload: Workload, least: Floats, most: Floats) -> MeanMoves | None:
        """Of grids, for `least` and `most` (Q,); of items None: whatever the label words, some y holds an item."""
        answers = self._answers(decoder, workload)
        return answers.mean_moves(least, most) if isinstance(answers, GridMoments) else None

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[ContributionLaw | Moments]:
        # Those of grids are drawn, see `AnswerMoments.drawn_laws`: there are as many values as offsets and matrices.
        if isinstance(decoder, ScaledHistogramDecoder):
            yield from ItemAnswers(workload, self.randomizer, decoder).contribution_laws(histogram, queries)

    def _answers(self, decoder: PlainDecoder, workload: Workload) -> ItemAnswers | GridMoments:
        match decoder:
            case ScaledHistogramDecoder():
                return ItemAnswers(workload, self.randomizer, decoder)
            case GridDecoder(factors=factors):
                form = form_of(workload)
                if form is None:
                    raise InvalidValue("shifted grids do not answer these queries", workload)
                return form.of(self.randomizer, workload, None if factors is None else ndarray(factors))
            case _:
                raise InvalidValue(f"reports of cells are not decoded by a decoder of kind {decoder.kind!r}", decoder)

    def extremes(self, rows: Floats, reach: float) -> Ends:
        raise InvalidValue("the extremes of a coarsened randomizer are not known apart from a decoder", self.randomizer)
