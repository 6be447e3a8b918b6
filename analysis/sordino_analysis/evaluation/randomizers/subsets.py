"""Randomizers whose reports are sets of cells, exchangeable but for the own one; a single output is a set of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import PlainDecoder, ScaledHistogramDecoder, SubsetDecoder
from sordino_analysis.evaluation.accumulator_moments import (
    ExchangeableMoments,
    SizeMixtureMoments,
    mixture_moments,
    response_moments,
    selection_moments,
)
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Moments
from sordino_analysis.evaluation.grids.answers import listed_on_a_line
from sordino_analysis.evaluation.indicator_answers import IndicatorAnswers, MixedIndicatorAnswers
from sordino_analysis.evaluation.linear_answers import linear_decoder
from sordino_analysis.evaluation.many_intervals import ManyIntervals, too_many_ranges
from sordino_analysis.evaluation.randomizers.counts import COUNTED_AT_ONCE, counts
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, Outputs, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import (
    check_between,
    check_counts,
    check_length,
    check_reports,
    whole_number,
)
from sordino_analysis.evaluation.sums_of_draws import drawn_sums, moved
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.questions.linear import Workload
from sordino_shared.randomizers import RandomizedResponse, SubsetMixture, SubsetSelection

# Rows of bits that are no longer than this together are added up one by one.
_FEW_BYTES = 1 << 12
# Sets that are listed one by one where rows of any numbers leave no shorter way.
_MOST_SETS = 4096

# (slope, offset) of a decoder for sets of each size: `LinearDecoder.set_terms`.
Terms = list[tuple[float, float]]
# A pmf takes half a millisecond, and a series of many periods reads the same ones for each: so many are kept.
_KEPT = 4096


@lru_cache(maxsize=_KEPT)
def _drawn(types: int, cells: int, size: int) -> Floats:
    """(size + 1,) chances of j of the `cells` among `size` that are drawn of the `types`; 0 where that cannot be."""
    # Here, since processes that only add reports up import this module and do without scipy.
    from scipy.stats import hypergeom

    chances = np.nan_to_num(hypergeom.pmf(np.arange(size + 1), types, cells, size))
    chances.flags.writeable = False
    return np.asarray(chances)


class SetHalf(ServerHalf):
    """s is the indicator (k,) of the set, or for several sizes one such block for each size (D·k,)."""

    randomizer: RandomizedResponse | SubsetSelection | SubsetMixture

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many cells a report holds, each possible number once."""

    @property
    @abstractmethod
    def parts(self) -> list[tuple[float, ExchangeableMoments]]:
        """Chance and moments of the sets of each size."""

    @property
    @abstractmethod
    def pair_distance(self) -> Fraction:
        """Total variation between the reports of any two values, exact."""

    def check(self, sums: Integers, count: int) -> None:
        check_length(sums, len(self.sizes) * self.randomizer.size)
        found = 0
        for block, size in zip(np.split(sums, len(self.sizes)), self.sizes, strict=True):
            sets = whole_number(sum(block.tolist()), size, f"the sum over sets of {size}")
            check_between(block, 0, sets, sets)
            found += sets
        check_reports(found, count)

    def clones(self) -> tuple[Clones, ...]:
        """One, since every pair of values is as far apart."""
        distance = self.pair_distance
        return (Clones.of_pair(self.likelihood_ratio, distance),) if distance else ()

    def extremes(self, rows: Floats, reach: float) -> Ends:
        blocks = zip(np.hsplit(rows, len(self.sizes)), self.sizes, strict=True)
        lows, highs = zip(*(_extreme_sums(block, size) for block, size in blocks), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        """Queries of zeros and ones without forming W: a set of s cells holds s − (k − |q|) to s of a query's |q|."""
        terms = self._terms(decoder, workload)
        if terms is None:
            return super().extreme_contributions(decoder, workload, reach)
        cells = workload.operator.matvec(np.ones(workload.size))
        added = [
            slope * held + offset * cells
            for size, (slope, offset) in zip(self.sizes, terms, strict=True)
            for held in (np.maximum(0.0, size - (workload.size - cells)), np.minimum(size, cells))
        ]
        return np.min(added, axis=0), np.max(added, axis=0)

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[ContributionLaw | Moments]:
        """A set of d cells holds the own one with chance p, and j of the others in a query as an urn gives them.

        `histogram` (k,).
        """
        terms = self._terms(decoder, workload)
        if terms is None and self._listable:
            yield from super().contribution_laws(decoder, workload, histogram, queries)
            return
        if terms is None:
            linear = linear_decoder(decoder, self.randomizer, workload)
            for query in queries:
                row = linear.rows(workload.operator, query, query + 1)[0][0]
                yield Moments(self.row_moments(row), histogram)
            return
        cells = np.rint(workload.operator.matvec(np.ones(workload.size))).astype(int)
        held = np.clip(workload.operator.matvec(histogram), 0.0, 1.0)
        by_cells: dict[int, tuple[Floats, Floats]] = {}
        for query in queries:
            count = int(cells[query])
            if count not in by_cells:
                by_cells[count] = self._intersections(terms, count)
            values, chances = by_cells[count]
            yield ContributionLaw(values, chances, np.array([1 - held[query], held[query]]), np.array([0.0, 1.0]))

    def row_moments(self, row: Floats) -> Floats:
        """(4, k) E[(F s)ʲ | x], j = 1 … 4, for a row F (D·k), a block of k for each of the D sizes."""
        found = np.zeros((5, self.randomizer.size))
        for block, size, (chance, law) in zip(np.split(row, len(self.sizes)), self.sizes, self.parts, strict=True):
            own = float(law.own)
            found += chance * (1 - own) * drawn_sums(block, size)
            found += chance * own * moved(drawn_sums(block, size - 1), block)
        return found[1:]

    @property
    def _listable(self) -> bool:
        return sum(comb(self.randomizer.size, size) for size in self.sizes) <= _MOST_SETS

    def _terms(self, decoder: PlainDecoder, workload: Workload) -> Terms | None:
        """None where queries are not zeros and ones, or the decoder is not of this form."""
        if not workload.operator.zero_one:
            return None
        return linear_decoder(decoder, self.randomizer, workload).set_terms(self.sizes)

    def _intersections(self, terms: Terms, cells: int) -> tuple[Floats, Floats]:
        """Values slope·j + offset·|q| of sets with j of a query's cells; chances for a type out of the query or in it.

        The own cell is none of the query's cells, or one of them: the others are drawn from an urn of one fewer.
        """
        values, chances, types = [], [], self.randomizer.size - 1
        for size, (chance, law), (slope, offset) in zip(self.sizes, self.parts, terms, strict=True):
            own = float(law.own)
            values.append(slope * np.arange(size + 1) + offset * cells)
            outside = own * np.append(_drawn(types, cells, size - 1), 0.0) + (1 - own) * _drawn(types, cells, size)
            inside = own * np.append(0.0, _drawn(types, cells - 1, size - 1)) + (1 - own) * _drawn(
                types, cells - 1, size
            )
            chances.append(chance * np.stack([outside, inside], axis=1))
        return np.concatenate(values), np.concatenate(chances)

    def _outputs(self) -> Outputs | None:
        types = self.randomizer.size
        if not self._listable:
            return None
        statistics, kernels = [], []
        for number, (size, (chance, law)) in enumerate(zip(self.sizes, self.parts, strict=True)):
            sets = np.array(list(combinations(range(types), size)))
            members = np.zeros((len(sets), len(self.sizes), types))
            members[np.arange(len(sets))[:, None], number, sets] = 1.0
            inside, own = members[:, number], float(law.own)
            with_own = comb(types - 1, size - 1)
            kernels.append(chance * np.where(inside == 1, own / with_own, (1 - own) / (len(sets) - with_own)))
            statistics.append(members.reshape(len(sets), -1).T)
        return np.hstack(statistics), np.vstack(kernels)


class _OneSizeHalf(SetHalf):
    """All sets have one size, so that one slope decodes a histogram."""

    @property
    @abstractmethod
    def moments(self) -> ExchangeableMoments:
        """Chances of the own cell, another one, and of two."""

    @property
    def parts(self) -> list[tuple[float, ExchangeableMoments]]:
        return [(1.0, self.moments)]

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> AnswerMoments:
        found = linear_decoder(decoder, self.randomizer, workload)
        if workload.operator.zero_one and isinstance(found, ScaledHistogramDecoder):
            answers = IndicatorAnswers(workload, self.moments, found)
            return ManyIntervals.listed(answers) if too_many_ranges(workload) else answers
        return super().answer_moments(decoder, workload)

    def listed(self, workload: Workload) -> Workload:
        return listed_on_a_line(workload) if too_many_ranges(workload) else workload

    def extreme_contributions(self, decoder: PlainDecoder, workload: Workload, reach: float = 1.0) -> Ends:
        return super().extreme_contributions(decoder, self.listed(workload), reach)


@dataclass(frozen=True, eq=False)
class RandomizedResponseHalf(_OneSizeHalf):
    """Outputs are counted as those of a finite kernel; their moments are those of sets of one."""

    randomizer: RandomizedResponse

    @cached_property
    def moments(self) -> ExchangeableMoments:
        return response_moments(self.randomizer)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,)

    @property
    def counted_outputs(self) -> int:
        return self.randomizer.size

    @property
    def reports_at_once(self) -> int:
        return COUNTED_AT_ONCE

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return counts(payloads, self.randomizer.size)

    def check(self, sums: Integers, count: int) -> None:
        check_length(sums, self.randomizer.size)
        check_counts(sums, count)

    @property
    def pair_distance(self) -> Fraction:
        return Fraction(self.randomizer.own_weight - self.randomizer.other_weight, 1 << self.randomizer.bits)

    def clones(self) -> tuple[Clones, ...]:
        """Everybody sends a third value as often as the two users do, or more often."""
        return tuple(replace(pair, even_floor=pair.even) for pair in super().clones())


@dataclass(frozen=True, eq=False)
class SubsetSelectionHalf(_OneSizeHalf):
    """Sets of one size, bit by bit."""

    randomizer: SubsetSelection

    @cached_property
    def moments(self) -> ExchangeableMoments:
        return selection_moments(self.randomizer)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.randomizer.subset_size,)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return bit_counts(payloads, self.randomizer.size)

    @property
    def pair_distance(self) -> Fraction:
        law = self.randomizer
        return _selection_distance(law.size, law.subset_size, Fraction(law.include_weight, 1 << law.bits))


@dataclass(frozen=True, eq=False)
class SubsetMixtureHalf(SetHalf):
    """Sets of several sizes, which are counted one size after the other."""

    randomizer: SubsetMixture

    @cached_property
    def moments(self) -> SizeMixtureMoments:
        return mixture_moments(self.randomizer)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.randomizer.subset_sizes

    @property
    def parts(self) -> list[tuple[float, ExchangeableMoments]]:
        return list(zip(self.moments.chances, self.moments.parts, strict=True))

    def answer_moments(self, decoder: PlainDecoder, workload: Workload) -> AnswerMoments:
        found = linear_decoder(decoder, self.randomizer, workload)
        if workload.operator.zero_one and isinstance(found, SubsetDecoder):
            return MixedIndicatorAnswers(workload, self.moments, found)
        return super().answer_moments(decoder, workload)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        types = self.randomizer.size
        bits = np.unpackbits(payloads, axis=1, bitorder="little")[:, :types]
        held = bits.sum(axis=1, dtype=np.uint32)
        return np.concatenate([bit_counts(payloads[held == size], types) for size in self.sizes])

    @property
    def pair_distance(self) -> Fraction:
        law, whole = self.randomizer, 1 << self.randomizer.bits
        weighted = zip(law.subset_sizes, law.size_weights, law.include_weights, strict=True)
        return sum(
            (
                weight * _selection_distance(law.size, size, Fraction(own, whole)) / whole
                for size, weight, own in weighted
            ),
            Fraction(0),
        )


def _selection_distance(types: int, size: int, own: Fraction) -> Fraction:
    """Σ over sets with x and without x′ of what x makes them likelier than x′ does; `own` is the chance of x ∈ S."""
    return (own * (types - size) - (1 - own) * size) / (types - 1)


def bit_counts(payloads: NDArray[np.uint8], size: int) -> Integers:
    """(size,) how many of the packed (n, ⌈size/8⌉) rows have each bit.

    Full adders, on packed bits: of three rows that count `weight` one is left, and one that counts twice as much.
    """
    total, weight, rows = np.zeros(size, dtype=np.int64), 1, payloads
    few = max(2, _FEW_BYTES // payloads.shape[1])
    while len(rows):
        carried = [rows[:0]]
        while len(rows) > few:
            third = len(rows) // 3
            first, second, last = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            odd = first ^ second
            carried.append(first & second | odd & last)
            rows = np.concatenate([odd ^ last, rows[3 * third :]])
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :size]
        total += weight * bits.sum(axis=0, dtype=np.int64)
        rows, weight = np.concatenate(carried), 2 * weight
    return total


def _extreme_sums(rows: Floats, size: int) -> Ends:
    """The sums of the `size` least and largest entries of each row."""
    if size == 1:
        return rows.min(axis=1), rows.max(axis=1)
    ordered = np.sort(rows, axis=1)
    return ordered[:, :size].sum(axis=1), ordered[:, -size:].sum(axis=1)
