"""The exact law of symmetric answers from an orbit kernel: variances block by block of queries that are alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.decoders import CharacterDecoder, PlainDecoder
from sordino_analysis.evaluation.answer_moments import (
    AnswerMoments,
    ErrorProfile,
    check_dense,
    regression_slopes,
)
from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.evaluation.linear_answers import covariance_square_root, root_fits
from sordino_analysis.evaluation.orbit_sums import CharacterSums
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_analysis.optimisation.symmetry.row_moments import LocalQuery, local_query, moments, report_laws
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.characters import cas_table, orbit_key, shifted_cells
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import OrbitKernel

# A square root of the covariance of symmetric answers, from seeded reports.


# The seed and the number of reports are part of the method, as those of a band are. A correlation of so many reports
# is one ± .01 at most, which moves the chance that all errors stay within a band by some ten-thousandths.
ROOT_REPORTS = 10_000
# Any seed: the same plan has the same figures on every machine.
_SEED = 20_261_122
# Sums of characters, or answers, that are held at once.
_MOST_HELD = 1 << 22
_SCALE = 1 << 32


def drawn_root(kernel: OrbitKernel, law: AnswerMoments, histogram: Floats) -> Floats:
    """A (Q, r) with A·Aᵀ ≈ Σ_x h_x E[(answers − W_x)(answers − W_x)ᵀ | x], the mean over ROOT_REPORTS seeded reports.

    Without bias that is the covariance; an entry errs by √(Var of the product / ROOT_REPORTS). Users are drawn from h
    (k,).
    """
    workload = law.workload
    drawn = np.random.default_rng(_SEED).choice(len(histogram), size=ROOT_REPORTS, p=histogram / histogram.sum())
    cells = np.sort(drawn).astype(np.int64)
    payloads = randomize_many(kernel, cells, SeededRandomness(_SEED))
    sums, covariance = CharacterSums(kernel, _SCALE), np.zeros((workload.queries, workload.queries))
    unit = CharacterTables(kernel, _SCALE).unit / _SCALE
    at_once = max(1, _MOST_HELD // max(kernel.accumulator_size, workload.queries))
    for start in range(0, ROOT_REPORTS, at_once):
        here, place = np.unique(cells[start : start + at_once], return_inverse=True)
        held = np.stack([workload.operator.column(int(cell)) for cell in here], axis=1)
        errors = law.decode(unit * sums.each(payloads[start : start + at_once]).astype(float)) - held[:, place]
        covariance += errors @ errors.T
    return covariance_square_root(covariance / ROOT_REPORTS)


# Values that agree in so many digits are one.
_DIGITS = 9


def orbit_answers(randomizer: OrbitKernel, decoder: PlainDecoder, workload: Workload) -> OrbitAnswerMoments:
    """The moments of the answers; raises InvalidValue where randomizer, decoder and workload do not belong together."""
    operator = workload.operator
    if not isinstance(decoder, CharacterDecoder):
        raise InvalidValue("an orbit kernel and a decoder of characters go together only", (randomizer, decoder))
    if not isinstance(operator, CharacterMap) or _extent(operator) != (
        randomizer.shape,
        randomizer.width,
        randomizer.pinned,
    ):
        raise InvalidValue(
            f"the kernel is for queries about {randomizer.width} of the attributes {randomizer.shape}", workload
        )
    orbits, rows = len(operator.characters.orbits), len(randomizer.rows)
    levels = randomizer.width + 1 if randomizer.overlaps else 1
    shared = (1, orbits), (1, 1)
    expected = (len(operator.blocks), rows * levels * orbits), (len(operator.blocks), rows * levels)
    if (shapes := (decoder.slopes.shape, decoder.offsets.shape)) not in (shared, expected):
        raise InvalidValue(f"the decoder has shapes {decoder.slopes.shape} and {decoder.offsets.shape}", decoder)
    lead = (1, 1, 1) if shapes == shared else (-1, rows, levels)
    slopes, offsets = ndarray(decoder.slopes).reshape(*lead, orbits), ndarray(decoder.offsets).reshape(lead)
    return OrbitAnswerMoments(
        workload=workload, operator=operator, spectrum=RowSpectrum(randomizer), slopes=slopes, offsets=offsets
    )


def _extent(operator: CharacterMap) -> tuple[tuple[int, ...], int, int | None]:
    """What queries and kernel must agree on."""
    return operator.characters.shape, operator.characters.width, operator.characters.pinned


@dataclass(frozen=True, eq=False, kw_only=True)
class OrbitAnswerMoments(AnswerMoments):
    """Answers offset_bj + Σ_r β_r slope_bjr H_r from a report of row b that holds j of a query's attributes.

    They are alike throughout a block, up to shifts. `slopes` are (blocks, rows, levels, orbits) and `offsets` (blocks,
    rows, levels); a level is an overlap j, or there is one for all. Where all blocks and rows share theirs, they are
    (1, 1, 1, orbits) and (1, 1, 1).
    """

    workload: Workload
    operator: CharacterMap
    spectrum: RowSpectrum
    slopes: Floats
    offsets: Floats

    def decode(self, mean: Floats) -> Floats:
        """Answers (Q, …) from the mean accumulator (p, …)."""
        sums = mean.reshape(len(self.spectrum.chances), -1, *mean.shape[1:])
        if self.spectrum.kernel.overlaps:
            return self._decoded_by_overlap(sums)
        counted = sums if self.slopes.shape[1] > 1 else sums.sum(axis=0, keepdims=True)
        one, orbit_of = np.ones_like(sums[0, :1]), self.operator.characters.orbit_of
        by_slopes = [np.einsum("bp,bp...->p...", slopes[:, 0, orbit_of], counted[:, 1:]) for slopes in self.slopes]
        coefficients = [np.concatenate([one, found]) for found in by_slopes]
        blocks = self.operator.blocks
        answers = self.operator.answers(coefficients if len(coefficients) > 1 else coefficients * len(blocks))
        for number, block in enumerate(blocks):
            answers[block.queries] += self.offsets_of(number)[:, 0] @ sums[:, 0]
        return answers

    @property
    def levels(self) -> int:
        """How many overlaps a decoder tells apart."""
        return self.spectrum.kernel.width + 1 if self.spectrum.kernel.overlaps else 1

    def slopes_of(self, number: int) -> Floats:
        """(rows, levels, orbits) the slopes of a block."""
        own = self.slopes[min(number, len(self.slopes) - 1)]
        return np.broadcast_to(own, (len(self.spectrum.chances), self.levels, own.shape[-1]))

    def offsets_of(self, number: int) -> Floats:
        """(rows, levels) the offsets of a block."""
        own = self.offsets[min(number, len(self.offsets) - 1)]
        return np.broadcast_to(own, (len(self.spectrum.chances), self.levels))

    def expected(self, number: int) -> Floats:
        """(K,) the mean of the first query of a block at each local cell, up to a constant of the query."""
        return self._moments(number, 0)[0]

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        variance, bias = np.empty(self.workload.queries), np.empty(self.workload.queries)
        total: Floats = np.zeros(1)
        for block, variances, wrong in self._blocks():
            variance[block.queries] = np.broadcast_to(variances.max(axis=1), block.queries.shape)
            bias[block.queries] = np.broadcast_to(wrong, block.queries.shape)
            total = total + block.weight * self._summed(block, variances)
        return ErrorProfile(variance, bias, total / self.workload.queries, self.workload.query_weights)

    def mixed_variances(self, histogram: Floats) -> Floats:
        mixed = np.empty(self.workload.queries)
        marginals = self.operator.marginals(histogram)
        for (block, variances, _), held in zip(self._blocks(), marginals, strict=True):
            mixed[block.queries] = held @ _every_row(block, variances).T
        return np.maximum(mixed, 0.0)

    def variance_slopes(self, histogram: Floats) -> Floats:
        slopes = np.empty(self.workload.queries)
        marginals = self.operator.marginals(histogram)
        for (block, variances, _), held in zip(self._blocks(), marginals, strict=True):
            every = _every_row(block, variances)
            for queries, shares in zip(block.queries, held, strict=True):
                slopes[queries] = regression_slopes(block.values, every, shares)
        return slopes

    def local_variances(self) -> Iterator[Floats]:
        """For each block the variance (rows, K) of every row at each cell of a support."""
        return (_every_row(block, variances) for block, variances, _ in self._blocks())

    def local_biases(self) -> Iterator[Floats]:
        """For each block the worst bias (rows,) of every row, or (1,) of all rows where they are shifts of one."""
        return (wrong for _, _, wrong in self._blocks())

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        found = np.empty(self.operator.shape)
        cells = np.indices(self.operator.characters.shape).reshape(len(self.operator.characters.shape), -1)
        for block, variances, _ in self._blocks():
            every = _every_row(block, variances)
            for support, queries in zip(block.supports, block.queries, strict=True):
                found[queries] = every[:, np.ravel_multi_index(tuple(cells[support]), block.shape)]
        return found

    def covariance_root(self, histogram: Floats) -> Floats | None:
        """A (Q, r) from seeded reports: the exact covariance takes shares of all sets of twice as many attributes."""
        if not root_fits(self.workload.queries, self.workload.queries):
            return None
        return drawn_root(self.spectrum.kernel, self, histogram)

    def _summed(self, block: CharacterBlock, variances: Floats) -> Floats:
        """(1,) or (n,) the variances of a block's queries, added up, for every type or for each number of ones.

        Queries that are shifts of one another sum to the same for all types. Others are parities and concepts, whose
        rows have in all a variance that is a function of how many of their attributes are ones, and of the pinned one;
        its sum over all sets of as many attributes is one of Krawtchouk values.
        """
        if block.shifted:
            return np.array([block.queries.size * float(variances.mean())])
        pinned = len(block.shape) - len(self._free(block.shape))
        attributes, width = len(self.operator.characters.shape) - pinned, len(block.shape) - pinned
        by_ones = variances.sum(axis=0).reshape(2**width, -1)[(1 << np.arange(width + 1)) - 1]
        waves = krawtchouk(width, width) @ by_ones / 2**width
        around = np.array([math.comb(attributes - involved, width - involved) for involved in range(width + 1)])
        return np.asarray(krawtchouk(attributes, width) @ (waves * around[:, None])).ravel()

    def _free(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of a support without the pinned attribute, which is its last one."""
        return shape if self.operator.characters.pinned is None else shape[:-1]

    def _blocks(self) -> Iterator[tuple[CharacterBlock, Floats, Floats]]:
        return zip(self.operator.blocks, *zip(*self._by_block, strict=True), strict=True)

    @cached_property
    def _by_block(self) -> list[tuple[Floats, Floats]]:
        """Variances (rows, K) and worst biases (rows,); of the first row only where the others are shifts of it."""
        found = []
        for number, block in enumerate(self.operator.blocks):
            homes = [(0, np.arange(1))] if block.shifted else _shifts_of_rows(block)
            laws = {row: self._law(number, row) for row in {row for row, _ in homes}}
            variances = [laws[row][0] if block.shifted else laws[row][0][cells] for row, cells in homes]
            found.append((np.stack(variances), np.array([laws[row][1] for row, _ in homes])))
        return found

    def _law(self, number: int, row: int) -> tuple[Floats, float]:
        """Variance at each cell of a support, and the worst bias there, of one query."""
        block = self.operator.blocks[number]
        mean, squares = self._moments(number, row)
        wrong = np.abs(mean + block.table[row, 0] - block.values[row]).max()
        return np.maximum(squares - mean**2, 0.0), float(wrong)

    def _moments(self, number: int, row: int) -> tuple[Floats, Floats]:
        """(K,) the mean, and the mean square, of one query's answer without its constant at each cell of a support."""
        query, tables = self._answer_tables(number, row)
        characters = self.operator.characters
        single = self.spectrum.single & (self.levels == 1) & ~self.offsets_of(number).any(axis=1)
        mean, squares = self._moments_of_single(number, query, single)
        for of_shape in self.spectrum.rows_by_shape():
            rows = [index for index in of_shape if not single[index]]
            if not rows:
                continue
            coefficients = np.stack([self.spectrum.coefficients[index] for index in rows])
            first, second = moments(coefficients, characters, query.kinds, tables[rows, None])
            mean = mean + self.spectrum.chances[rows] @ first[:, 0]
            squares = squares + self.spectrum.chances[rows] @ second[:, 0, 0]
        return mean, squares

    def _moments_of_single(self, number: int, query: LocalQuery, rows: Mask) -> tuple[Floats, Floats]:
        """(K,) mean and mean square of one query's answer from the `rows` that tell one character each."""
        information, slopes = self.spectrum.information[rows], self.slopes_of(number)[rows, 0]
        shares, noise = ((information * slopes**power).sum(axis=0) for power in (1, 2))
        mean = np.where(query.orbits >= 0, shares[query.orbits], 0.0) * query.weights @ cas_table(query.shape)
        square = (np.where(query.orbits >= 0, noise[query.orbits], 0.0) * query.weights**2).sum()
        return mean, np.full(len(query.weights), square)

    def report_law(self, number: int, row: int) -> tuple[Floats, Floats]:
        """Values (m,) of one query's answer from a report, and the chance (m, K) of each at each cell of a support."""
        query, tables = self._answer_tables(number, row)
        values, chances = [], []
        for rows in self.spectrum.rows_by_shape():
            coefficients = np.stack([self.spectrum.coefficients[index] for index in rows])
            for answers, law in report_laws(coefficients, self.operator.characters, query.kinds, tables[rows]):
                values.append(answers.ravel())
                chances.append((self.spectrum.chances[rows][:, None, None] * law).reshape(answers.size, -1))
        constant = self.operator.blocks[number].table[row, 0]
        return np.concatenate(values) + constant, np.concatenate(chances)

    def coin_ends(self, number: int, row: int) -> Iterator[tuple[float, float, float]]:
        """The least and the largest answer over the shifts, and the chance, of each row and map of its slots."""
        query, tables = self._answer_tables(number, row)
        constant = float(self.operator.blocks[number].table[row, 0])
        for rows in self.spectrum.rows_by_shape():
            coefficients = np.stack([self.spectrum.coefficients[index] for index in rows])
            for answers, law in report_laws(coefficients, self.operator.characters, query.kinds, tables[rows]):
                # A user of any cell sends one of the shifts.
                chances = self.spectrum.chances[rows] * law[:, :, 0].sum(axis=1)
                ends = answers.min(axis=1) + constant, answers.max(axis=1) + constant
                yield from zip(*(each.tolist() for each in ends), chances.tolist(), strict=True)

    def _answer_tables(self, number: int, row: int) -> tuple[LocalQuery, Floats]:
        """A query on one support, and the weights (rows, overlaps, K) of H_r in a report of each row and overlap."""
        query = local_query(self.operator.characters, self.operator.blocks[number], row)
        weighed = np.where(query.orbits >= 0, self.slopes_of(number)[..., query.orbits], 0.0) * query.weights
        weighed[..., 0] = self.offsets_of(number)
        overlaps = len(query.shape) + 1
        tables = np.broadcast_to(weighed, (len(weighed), max(overlaps, weighed.shape[1]), len(query.weights)))
        return query, tables[:, :overlaps]

    def _decoded_by_overlap(self, sums: Floats) -> Floats:
        """Those that hold exactly a set are those that hold it less those that hold more: differences of slopes."""
        answers = np.empty((self.workload.queries, *sums.shape[2:]))
        for number, block in enumerate(self.operator.blocks):
            slopes, offsets = self.slopes_of(number), self.offsets_of(number)
            found = np.zeros((len(block.supports), *block.shape, *sums.shape[2:]))
            for axes in _subsets(len(block.shape)):
                window = tuple(slice(None) if axis in axes else 0 for axis in range(len(block.shape)))
                found[:, *window] += self._from_axes(block, axes, slopes, offsets, sums)
            local = found.reshape(len(found), -1, *sums.shape[2:])
            table = np.where(np.arange(local.shape[1]) > 0, block.table, 1.0)
            answers[block.queries] = np.einsum("ar,sr...->sa...", table, local)
            answers[block.queries] += np.expand_dims(block.table[:, 0], tuple(range(1, sums.ndim - 1)))
        return answers

    def _from_axes(
        self, block: CharacterBlock, axes: tuple[int, ...], slopes: Floats, offsets: Floats, sums: Floats
    ) -> Floats:
        """(n, sizes of the held axes, …) what the sums over reports that hold these axes of each support add."""
        characters, sizes = self.operator.characters, [block.shape[axis] for axis in axes]
        kinds = [characters.kinds[attribute] for attribute in block.supports[0, list(axes)]]
        if not axes:
            return np.repeat((offsets[:, 0] @ sums[:, 0])[None], len(block.supports), axis=0)
        starts = [1 + characters.table_starts[tuple(support)] for support in block.supports[:, axes].tolist()]
        weights = np.empty((len(slopes), *sizes))
        for r in np.ndindex(*sizes):
            involved = int(np.count_nonzero(r))
            own = slopes[:, :, characters.orbit_numbers[orbit_key(kinds, r)]] if involved else offsets
            weights[:, *r] = np.diff(own, n=len(axes) - involved, axis=1)[:, involved]
        places = np.add.outer(starts, np.arange(math.prod(sizes)))
        found = np.einsum("br,bnr...->nr...", weights.reshape(len(sums), -1), sums[:, places])
        return np.asarray(found).reshape(-1, *sizes, *sums.shape[2:])


def _every_row(block: CharacterBlock, variances: Floats) -> Floats:
    """(rows, K) the variances of every row of a block."""
    return np.asarray(variances[0][shifted_cells(block.shape)]) if block.shifted else variances


def _shifts_of_rows(block: CharacterBlock) -> list[tuple[int, Indices]]:
    """For each row of the block the first row that is a shift of it, and which cell (K,) of that row each cell is.

    A report is shifted at random, so that the law of an answer at a cell is the other one's at the shifted cell. Only
    attributes of two members are shifted.
    """
    cells, homes = np.arange(block.table.shape[1]), dict[bytes, tuple[int, int]]()
    moves = range(len(cells)) if set(block.shape) == {2} else range(1)
    rows = []
    for row, values in enumerate(np.round(block.values, _DIGITS) + 0.0):
        if values.tobytes() not in homes:
            for move in moves:
                homes.setdefault(values[cells ^ move].tobytes(), (row, move))
        first, moved = homes[values.tobytes()]
        rows.append((first, cells ^ moved))
    return rows


def _subsets(axes: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(axes), length) for length in range(axes + 1))
