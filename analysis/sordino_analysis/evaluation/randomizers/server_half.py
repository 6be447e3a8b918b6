"""What a server computes about one randomizer, the counterpart of the device's half in `sordino_shared.randomizers`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import PlainDecoder
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments, OutputCounts, gathered
from sordino_analysis.evaluation.linear_answers import LinearAnswers, decoded_blocks, linear_decoder
from sordino_analysis.evaluation.mean_moves import MeanMoves, moves_of_ends
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer

Integers = NDArray[np.int64]
Ends = tuple[Floats, Floats]
# The accumulator (p, m) of each of m outputs, None where it is the unit vector of the output, and K (m, k).
Outputs = tuple[Floats | None, Floats]

# Entries that are held at once: 32 MiB.
_BATCH_ENTRIES = 1 << 22
# No entry of an accumulator is above twice its unit.
MAX_SUM = 1 << 62


class ServerHalf(ABC):
    """Sums of a randomizer's reports, their exact moments, and what one report adds to an answer.

    s (p,) is the accumulator of one report in real numbers; sums are kept in integers, `units` of them for each one.
    """

    # Whether a report is added up when it arrives: always (cheap), on a server that is set to it (all), or never. What
    # takes long is otherwise done once, when the round ends.
    summed_on_ingest: ClassVar[IngestSums | None] = "cheap"
    randomizer: AnyRandomizer

    @property
    @abstractmethod
    def moments(self) -> AccumulatorMoments:
        """E and Cov of s given each type; raises InvalidValue where they are not known apart from a decoder."""

    @property
    def counted_outputs(self) -> int | None:
        """How many different reports there are, where they are counted one by one."""
        return None

    @property
    def reports_at_once(self) -> int:
        """Reports that are added up in one step, so that arrays stay small."""
        return max(1, _BATCH_ENTRIES // self.randomizer.accumulator_size)

    def accumulate(self, payloads: NDArray[np.uint8]) -> Integers:
        """Σ over the (n, width) payloads of the report's accumulator in integers, (p,)."""
        total = np.zeros(self.randomizer.accumulator_size, dtype=np.int64)
        self.add(payloads, total)
        return total

    def add(self, payloads: NDArray[np.uint8], total: Integers) -> None:
        """Add the same to sums (p,), in place: of large sums no second copy is made."""
        step = self.reports_at_once
        for start in range(0, len(payloads), step):
            total += self._sum(payloads[start : start + step])

    @abstractmethod
    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        """The same for one step."""

    def check(self, sums: Integers, count: int) -> None:
        """Raise InvalidValue unless `count` reports can add up to `sums` (p,), or where no bound of them is known.

        Sums that pass move an answer no further than `count` reports can.
        """
        raise InvalidValue(
            f"sums of {self.randomizer.kind} reports are not taken from elsewhere: what they can be is not known", count
        )

    @property
    def most_reports(self) -> int:
        """The most reports whose sums fit 64 bits for every content."""
        return MAX_SUM // int(self.units().max())

    def units(self) -> Floats:
        """(p,) how many of the accumulator's units are one."""
        return np.full(self.randomizer.accumulator_size, 1.0)

    def listed(self, workload: Workload) -> Workload:
        """The workload with the queries that plans and estimates list: all, unless they are too many."""
        return workload

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> AnswerMoments:
        """The moments of the answers; raises InvalidValue where decoder and workload do not fit."""
        return LinearAnswers(workload, self.moments, linear_decoder(decoder, self.randomizer, workload))

    @abstractmethod
    def extremes(self, rows: Floats, reach: float) -> Ends:
        """(b,) the least and the largest F_q · s of one report, for `rows` F (b, p).

        A direction is taken to turn at most the share `reach` of its unit length towards any row.
        """

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        """(Q,) the least and the largest contribution of one report to each answer, over all that a device can send."""
        low, high = np.empty(workload.queries), np.empty(workload.queries)
        for start, stop, rows, offset in decoded_blocks(linear_decoder(decoder, self.randomizer, workload), workload):
            least, most = self.extremes(rows, reach)
            low[start:stop], high[start:stop] = least + offset, most + offset
        return low, high

    @property
    def mean_reach(self) -> float | None:
        """E of the share of its length by which a drawn direction turns towards a row; None without directions."""
        return None

    def mean_moves(self, decoder: PlainDecoder, workload: Workload, least: Floats, most: Floats) -> MeanMoves | None:
        """How far reports with drawn coins move answers that lie in `least` (Q,) to `most` (Q,), in the mean.

        None where all coins move them as far as a chosen one, or where there is none.
        """
        if self.mean_reach is None:
            return None
        low, high = self.extreme_contributions(decoder, workload, self.mean_reach)
        return MeanMoves(np.arange(len(low)), moves_of_ends(low, high, least, most))

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[ContributionLaw | Moments]:
        """The law of one report's contribution to each of the `queries`, users being spread as the histogram.

        Listed where outputs can be or few values come of them, moments where not; nothing of pairs. `histogram` (k,).
        """
        outputs = self._outputs()
        if outputs is None:
            return
        (statistics, kernel), linear = outputs, linear_decoder(decoder, self.randomizer, workload)
        for query in queries:
            rows, offset = linear.rows(workload.operator, query, query + 1)
            truth = workload.operator.take(np.array([query]))[0]
            values = rows[0] if statistics is None else rows[0] @ statistics
            yield ContributionLaw(*gathered(values + offset[0], kernel), histogram, truth)

    def output_counts(
        self, decoder: PlainDecoder, workload: Workload, queries: NDArray[np.intp]
    ) -> OutputCounts | None:
        """The counts that make up the answers of the `queries`; None where outputs are not listed or too many.

        `queries` (m,), indices.
        """
        outputs = self._outputs()
        if outputs is None or len(queries) * len(outputs[1]) > _BATCH_ENTRIES:
            return None
        (statistics, kernel), linear = outputs, linear_decoder(decoder, self.randomizer, workload)
        rows = np.vstack([linear.rows(workload.operator, query, query + 1)[0] for query in queries.tolist()])
        return OutputCounts(kernel, rows if statistics is None else rows @ statistics)

    def clones(self) -> tuple[Clones, ...]:
        """What reports of others hide of any two values: every pair is one of these, the worst first.

        Without any, all values send the same. Raises InvalidValue where likelihood ratios have no bound.
        """
        ratio = self.likelihood_ratio
        return (Clones.of_any(ratio),) if ratio > 1 else ()

    @property
    def likelihood_ratio(self) -> Fraction:
        """e^ε₀, exact; raises InvalidValue where there is none."""
        ratio = self.randomizer.likelihood_ratio()
        if ratio is None:
            raise InvalidValue("some report is possible for one value only: it has no ε", self.randomizer)
        return Fraction(*ratio)

    def _outputs(self) -> Outputs | None:
        """Every output with its chances; None where there are too many."""
        return None
