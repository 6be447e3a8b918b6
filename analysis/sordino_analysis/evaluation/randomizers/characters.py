"""Orbit kernels: sums of the characters of a few attributes, row by row, in fixed point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import PlainDecoder
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments, gathered
from sordino_analysis.evaluation.mean_moves import MeanMoves, moves_of_ends
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments, orbit_answers
from sordino_analysis.evaluation.orbit_sums import CharacterSums
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.evaluation.randomizers.server_half import MAX_SUM, Ends, Integers, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import (
    check_absolute_sum,
    check_between,
    check_length,
    check_reports,
    whole_number,
)
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.characters import shifted_cells
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import OrbitKernel

# Entries that are held at once: 8 MiB.
_BATCH_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class CharacterHalf(ServerHalf):
    """s = (1, H_r for every r) in the block of the report's row, in units of 2^-32 of the largest."""

    summed_on_ingest: ClassVar[IngestSums | None] = None
    randomizer: OrbitKernel

    @property
    def moments(self) -> AccumulatorMoments:
        raise InvalidValue("characters have moments by queries only: ask for those of the answers", self.randomizer)

    @property
    def reports_at_once(self) -> int:
        """Of a report as many characters are looked up as its row has cells, however many sums there are."""
        return max(1, _BATCH_ENTRIES // max(row.cells for row in self.randomizer.rows))

    @cached_property
    def _sums(self) -> CharacterSums:
        return CharacterSums(self.randomizer, DIRECTION_SCALE)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return self._sums(payloads)

    def check(self, sums: Integers, count: int) -> None:
        """Count the reports of each row: no sum exceeds as many of the row's largest entries, nor all what reports add.

        `sums` (s,).
        """
        check_length(sums, self.randomizer.accumulator_size)
        found = 0
        largest, together = self._sums.largest, self._sums.most_together
        for block, most, whole in zip(np.split(sums, len(largest)), largest, together, strict=True):
            reports = whole_number(int(block[0]), self._sums.one, "the first sum of a row")
            check_between(block[1:], -reports * most, reports * most, reports)
            check_absolute_sum(block[1:], reports * whole, reports)
            found += reports
        check_reports(found, count)

    @property
    def most_reports(self) -> int:
        return MAX_SUM // DIRECTION_SCALE

    def units(self) -> Floats:
        unit = DIRECTION_SCALE / CharacterTables(self.randomizer, DIRECTION_SCALE).unit
        return np.full(self.randomizer.accumulator_size, unit)

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> OrbitAnswerMoments:
        return orbit_answers(self.randomizer, decoder, workload)

    def extremes(self, rows: Floats, reach: float) -> Ends:
        raise InvalidValue("characters have extremes by queries only: ask for those of the answers", self.randomizer)

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        """offset_b + β_0 ∓ Σ_r |β_r slope_br| √2 max|û_b| for the row b, and the overlap, that makes most of it.

        Of a row that tells one character it is exact: the largest |β_r slope_br| max|û_b| of the row's orbit.
        """
        answers = self.answer_moments(decoder, workload)
        characters, levels, spectrum = answers.operator.characters, answers.levels, answers.spectrum
        heights = np.repeat([np.sqrt(2) * np.abs(c.ravel()[1:]).max() for c in spectrum.coefficients], levels)
        single = np.flatnonzero(spectrum.single & (levels == 1))
        low, high = np.empty(workload.queries), np.empty(workload.queries)
        for number, block in enumerate(answers.operator.blocks):
            slopes, offsets = answers.slopes_of(number).reshape(len(heights), -1), answers.offsets_of(number).ravel()
            places = characters.places(tuple(block.supports[0].tolist()))
            used = places > 0
            scales = np.abs(slopes[:, characters.orbit_of[places[used] - 1]]) * heights[:, None]
            sizes = np.abs(block.table[:, used])
            waves = sizes @ scales.T
            for row in single:
                own = spectrum.tells[row, characters.orbit_of[places[used] - 1]]
                waves[:, row] = (sizes * scales[row] * own).max(axis=1, initial=0.0) / np.sqrt(2)
            start = block.table[:, :1] * ~used[0] + offsets
            low[block.queries] = (start - waves)[None].min(axis=2)
            high[block.queries] = (start + waves)[None].max(axis=2)
        return low, high

    def mean_moves(self, decoder: PlainDecoder, workload: Workload, least: Floats, most: Floats) -> MeanMoves:
        """Exact, for `least` and `most` (Q,): of every row and every way in which slots hold attributes of a query."""
        law = self.answer_moments(decoder, workload)
        known: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
        found = np.zeros(workload.queries)
        for query, (number, _, row) in enumerate(law.operator.homes.tolist()):
            first = 0 if law.operator.blocks[number].shifted else row
            if (number, first) not in known:
                known[number, first] = list(law.coin_ends(number, first))
            low, high, chances = np.array(known[number, first]).T
            found[query] = float(chances @ moves_of_ends(low, high, least[query], most[query]))
        return MeanMoves(np.arange(workload.queries), found)

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[ContributionLaw | Moments]:
        """Values of a report at the cells of a query's own support; queries of a block that are shifts share them.

        `histogram` (k,).
        """
        law = self.answer_moments(decoder, workload)
        shares = list(law.operator.marginals(histogram))
        found: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        for number, place, row in law.operator.homes[queries].tolist():
            block = law.operator.blocks[number]
            first = 0 if block.shifted else row
            if (number, first) not in found:
                found[number, first] = gathered(*law.report_law(number, first))
            values, chances = found[number, first]
            if block.shifted:
                chances = chances[:, shifted_cells(block.shape)[row]]
            held = np.maximum(shares[number][place], 0.0)
            yield ContributionLaw(values, chances, held / held.sum(), block.values[row])
