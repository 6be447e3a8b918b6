"""ε of blocks of noise, from whole numbers: the largest Σ_b ‖R̂_b(e_x − e_x′)‖_b/s_b between neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.documents.curator_part import NoiseBlock
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk_integers
from sordino_analysis.request_terms import Neighbours
from sordino_shared.errors import InvalidValue

Integers = NDArray[np.int64]
# Sums of absolute values stay in machine words below it.
_WORD = 2**62


def loss_of_rows(rows: Integers, blocks: Sequence[NoiseBlock], neighbours: Neighbours) -> Fraction:
    """The least ε that the triangle inequality proves for the rows (r, k), exact.

    Raises InvalidValue for blocks that do not cover the rows, or rows beyond machine words.
    """
    check_covered(len(rows), blocks)
    largest = max(abs(int(rows.max())), abs(int(rows.min())))
    if 2 * largest * len(rows) >= _WORD:
        raise InvalidValue("the rows of the strategy are too large to prove ε: scale them down", largest)
    if neighbours == "add-remove":
        return _heaviest(rows, blocks)
    # Not a pair is listed twice.
    return max(_heaviest(rows[:, cell + 1 :] - rows[:, [cell]], blocks) for cell in range(max(1, rows.shape[1] - 1)))


def loss_of_characters(
    bits: int, scales: Sequence[int], blocks: Sequence[NoiseBlock], neighbours: Neighbours
) -> Fraction:
    """At most so much for characters of d bits, c_j times those of j bits in order; exact where a block is a degree.

    A pair at distance t differs in F_j(t) = (C(d,j) − K_j(t))/2 of them, by 2c_j each. Raises InvalidValue for blocks
    that do not cover the characters, or that hold characters of more than one degree.
    """
    degrees = list(_degrees(bits, scales, blocks))
    if neighbours == "add-remove":
        return sum((scales[j] * _counted(block, block.rows) / block.exact_scale for j, block in degrees), Fraction(0))
    differing = [
        [(math.comb(bits, j) - value) // 2 for j, value in enumerate(row)]
        for row in krawtchouk_integers(bits, len(scales) - 1)[1:]
    ]
    return max(
        sum((2 * scales[j] * _counted(block, row[j]) / block.exact_scale for j, block in degrees), Fraction(0))
        for row in differing
    )


def check_covered(measured: int, blocks: Sequence[NoiseBlock]) -> None:
    """Raise InvalidValue unless the blocks have as many rows as are measured."""
    covered = sum(block.rows for block in blocks)
    if covered != measured:
        raise InvalidValue(f"the blocks of noise cover {covered} rows, {measured} are measured", covered)


def _heaviest(columns: Integers, blocks: Sequence[NoiseBlock]) -> Fraction:
    """max over the columns (r, m) of Σ_b ‖column_b‖_b/s_b; 0 where there is none."""
    if columns.shape[1] == 0:
        return Fraction(0)
    norms, start = [], 0
    for block in blocks:
        part = np.abs(columns[start : start + block.rows])
        norms.append(part.sum(axis=0) if block.norm == "l1" else part.max(axis=0))
        start += block.rows
    if len(blocks) == 1:
        return int(norms[0].max()) / blocks[0].exact_scale
    # Over a common denominator whole numbers of any size are compared.
    shared = math.lcm(*(block.scale[0] for block in blocks))
    weights = [block.scale[1] * (shared // block.scale[0]) for block in blocks]
    distinct = np.unique(np.array(norms), axis=1).T.tolist()
    return Fraction(max(sum(w * n for w, n in zip(weights, norm, strict=True)) for norm in distinct), shared)


def _degrees(bits: int, scales: Sequence[int], blocks: Sequence[NoiseBlock]) -> Iterator[tuple[int, NoiseBlock]]:
    left = [(j, math.comb(bits, j)) for j, scale in enumerate(scales) if scale]
    check_covered(sum(count for _, count in left), blocks)
    for block in blocks:
        degree, count = left.pop(0)
        if block.rows > count:
            raise InvalidValue("a block of noise holds characters of one number of bits", block)
        if block.rows < count:
            left.insert(0, (degree, count - block.rows))
        yield degree, block


def _counted(block: NoiseBlock, differing: int) -> int:
    """The norm of a block in which so many entries of the degree are 1 and the others 0, at most."""
    return min(differing, block.rows if block.norm == "l1" else 1)
