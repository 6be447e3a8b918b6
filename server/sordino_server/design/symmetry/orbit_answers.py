"""The exact law of symmetric answers from an orbit kernel: variances block by block of queries that are alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino_server.design.answers import AnswerLaw, ErrorProfile, check_dense
from sordino_server.design.arrays import Floats
from sordino_server.design.symmetry.characters import Characters, cas_table
from sordino_server.design.symmetry.row_moments import LocalQuery, second_moments
from sordino_server.design.symmetry.spectrum import Spectrum
from sordino_server.design.workloads import Workload
from sordino_server.design.workloads.operators import Indices
from sordino_server.design.workloads.widths import CharacterBlock, CharacterMap
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CharacterDecoder, Decoder
from sordino_shared.randomizers import OrbitKernel, Randomizer


def orbit_answers(randomizer: Randomizer, decoder: Decoder, workload: Workload) -> OrbitAnswers:
    """The law of the answers; raises InvalidValue where randomizer, decoder and workload do not belong together."""
    operator = workload.operator
    if not isinstance(randomizer, OrbitKernel) or not isinstance(decoder, CharacterDecoder):
        raise InvalidValue("an orbit kernel and a decoder of characters go together only", (randomizer, decoder))
    if not isinstance(operator, CharacterMap) or (operator.characters.shape, operator.characters.width) != (
        randomizer.shape,
        randomizer.width,
    ):
        raise InvalidValue(
            f"the kernel is for queries about {randomizer.width} of the attributes {randomizer.shape}", workload
        )
    orbits, rows = len(operator.characters.orbits), len(randomizer.rows)
    expected = (len(operator.blocks), rows * orbits), (len(operator.blocks), rows)
    if (decoder.slopes.shape, decoder.offsets.shape) != expected:
        raise InvalidValue(f"the decoder has shapes {decoder.slopes.shape} and {decoder.offsets.shape}", decoder)
    slopes = decoder.slopes.numpy().reshape(-1, rows, orbits)
    return OrbitAnswers(workload, operator, Spectrum(randomizer), slopes, decoder.offsets.numpy())


def decoded_characters(decoder: CharacterDecoder, workload: Workload, mean: Floats) -> Floats:
    """(Q,) answers from the mean statistic (rows · (1 + p),)."""
    operator, rows = workload.operator, decoder.offsets.shape[1]
    if not isinstance(operator, CharacterMap):
        raise InvalidValue("characters answer parities and marginals only", workload)
    sums = mean.reshape(rows, -1)
    characters = operator.characters
    slopes = decoder.slopes.numpy().reshape(-1, rows, len(characters.orbits))[:, :, characters.orbit_of]
    decoded = [np.append(1.0, (block * sums[:, 1:]).sum(axis=0)) for block in slopes]
    answers = operator.answers(decoded)
    for block, offsets in zip(operator.blocks, decoder.offsets.numpy(), strict=True):
        answers[block.queries] += offsets @ sums[:, 0]
    return answers


def local_query(characters: Characters, block: CharacterBlock, row: int) -> LocalQuery:
    """The query of one row of a block, on the block's first support: all its supports are alike."""
    places = characters.places(tuple(block.supports[0].tolist()))
    orbits = np.where(places > 0, characters.orbit_of[places - 1], -1)
    return LocalQuery(block.shape, block.table[row], orbits)


def shifted_cells(shape: tuple[int, ...]) -> Indices:
    """(K, K) index of x − a for rows a and columns x, in C order modulo the sizes."""
    cells = np.indices(shape).reshape(len(shape), -1)
    moved = (cells[:, None, :] - cells[:, :, None]) % np.array(shape)[:, None, None]
    return np.asarray(np.ravel_multi_index(tuple(moved), shape))


@dataclass(frozen=True, eq=False)
class OrbitAnswers(AnswerLaw):
    """Answers offset_b + Σ_r β_r slope_br H_r from a report of row b: alike throughout a block, up to shifts.

    `slopes` are (blocks, rows, orbits), `offsets` (blocks, rows).
    """

    workload: Workload
    operator: CharacterMap
    spectrum: Spectrum
    slopes: Floats
    offsets: Floats

    def profile(self) -> ErrorProfile:
        variance, bias = np.empty(self.workload.queries), np.empty(self.workload.queries)
        local = []
        for block, variances, wrong in self._blocks():
            variance[block.queries] = np.broadcast_to(variances.max(axis=1), block.queries.shape)
            bias[block.queries] = np.broadcast_to(wrong, block.queries.shape)
            every = len(block.table) * variances.mean(axis=1) if block.shifted else variances.sum(axis=0)
            local.append(np.broadcast_to(every, len(block.values[0])))
        return ErrorProfile(variance, bias, self._totals(local) / self.workload.queries)

    def mixed_variances(self, histogram: Floats) -> Floats:
        mixed = np.empty(self.workload.queries)
        marginals = self.operator.marginals(histogram)
        for (block, variances, _), held in zip(self._blocks(), marginals, strict=True):
            mixed[block.queries] = held @ _every_row(block, variances).T
        return np.maximum(mixed, 0.0)

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
        """None: the band of such answers is Šidák's, which needs no covariance."""
        return None

    def _totals(self, local: list[Floats]) -> Floats:
        """(k,) Σ over blocks, and over the supports s of each, of local_block(x_s)."""
        starts = np.cumsum([0, *(len(block.supports) for block in self.operator.blocks)])
        blocks = [
            replace(
                block,
                table=(values @ cas_table(block.shape) / len(values))[None],
                queries=start + np.arange(len(block.supports))[:, None],
            )
            for block, values, start in zip(self.operator.blocks, local, starts[:-1], strict=True)
        ]
        return CharacterMap(self.operator.characters.shape, blocks).rmatvec(np.ones(starts[-1]))

    def _blocks(self) -> Iterator[tuple[CharacterBlock, Floats, Floats]]:
        return zip(self.operator.blocks, *zip(*self._by_block, strict=True), strict=True)

    @cached_property
    def _by_block(self) -> list[tuple[Floats, Floats]]:
        """Variances (rows, K) and worst biases (rows,); of the first row only where the others are shifts of it."""
        found = []
        for number, block in enumerate(self.operator.blocks):
            rows = range(1 if block.shifted else len(block.table))
            laws = [self._law(number, row) for row in rows]
            found.append((np.stack([law[0] for law in laws]), np.array([law[1] for law in laws])))
        return found

    def _law(self, number: int, row: int) -> tuple[Floats, float]:
        """Variance at each cell of a support, and the worst bias there, of one query."""
        block, slopes, offsets = self.operator.blocks[number], self.slopes[number], self.offsets[number]
        query = local_query(self.operator.characters, block, row)
        cas, used = cas_table(block.shape), np.where(query.orbits >= 0, query.weights, 0.0)
        chances = self.spectrum.chances
        told = (used * (slopes * self.spectrum.told)[:, query.orbits]) @ cas
        mean = told.sum(axis=0) + chances @ offsets
        squares = 2 * offsets @ told + chances @ offsets**2
        for rows in self.spectrum.alike():
            coefficients = np.stack([self.spectrum.coefficients[index] for index in rows])
            moments = second_moments(coefficients, self.spectrum.kernel.shape, query, slopes[rows, None])
            squares = squares + chances[rows] @ moments[:, 0, 0]
        wrong = np.abs(mean + query.weights[0] - block.values[row]).max()
        return np.maximum(squares - mean**2, 0.0), float(wrong)


def _every_row(block: CharacterBlock, variances: Floats) -> Floats:
    """(rows, K) the variances of every row of a block."""
    return np.asarray(variances[0][shifted_cells(block.shape)]) if block.shifted else variances
