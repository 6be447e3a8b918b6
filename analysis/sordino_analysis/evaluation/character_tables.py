"""What reports of an orbit kernel add to sums of characters, in integers that are the same on every processor.

A transform of a library, and the cosines of an operating system, differ in their last bits between processors, and a
sum that is rounded the other way there is another sum. Here cosines are made of integers, and each floating-point
operation is one that IEEE 754 rounds in one way: sums, differences and products, in a fixed order, entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.vectorized.orbits import row_members
from sordino_shared.randomizers import BaseRow, OrbitKernel

Integers = NDArray[np.int64]
# Real and imaginary parts: a processor that multiplies complex numbers may round them in a way of its own.
Parts = tuple[Floats, Floats]
# Slots, and (shifts, frequencies) what a report with the shift counts for the frequency on these slots.
SlotTable = tuple[list[int], Integers]

# Fixed point of angles: products of two stay exact to the bits of a root.
_ANGLE_BITS = 128
# Fixed point of roots of unity: one fits into a machine word.
_ROOT_BITS = 62
# Tables of roots that are kept: one for each size of an attribute.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class CharacterTables:
    """H_r of the rows of `kernel` in multiples of `unit`/`scale`, which is what a report counts in sums.

    H_r(t) = (Re + Im) Σ_z u(z) e^{iθ_r(z + t)}/N for a row of N cells with likelihood ratios u, see `RowSpectrum`.
    """

    kernel: OrbitKernel
    scale: int

    @property
    def least(self) -> int:
        """The least frequency of a slot: 0 where sums are by overlaps."""
        return 0 if self.kernel.overlaps else 1

    @property
    def one(self) -> int:
        """What every report adds to the number of reports of its row."""
        return round(self.scale / self.unit)

    @cached_property
    def unit(self) -> float:
        """A power of two that neither 1 nor any H_r exceeds, so that integers stay within `scale`."""
        largest, unit = max(_largest_square(spectrum) for spectrum in self._spectra), 1.0
        # |(Re + Im) h| is at most √2 |h|.
        while unit * unit < 2 * largest:
            unit *= 2
        return unit

    @cached_property
    def rows(self) -> list[list[SlotTable]]:
        """For each row the tables of every set of up to `width` slots."""
        tables = (_contributions(s, self.kernel.width, self.least) for s in self._spectra)
        return [
            [(slots, np.rint(table * (self.scale / self.unit)).astype(np.int64)) for slots, table in of_row]
            for of_row in tables
        ]

    @cached_property
    def largest(self) -> list[int]:
        """For each row the largest |entry| of its tables."""
        return [max(int(np.abs(table).max()) for _, table in tables) for tables in self.rows]

    @cached_property
    def most_together(self) -> list[int]:
        """For each row the most that the |entries| of one report sum to."""
        return [int(sum(np.abs(table).sum(axis=1) for _, table in tables).max()) for tables in self.rows]

    @cached_property
    def _spectra(self) -> list[Parts]:
        return [_spectrum(self.kernel, row) for row in self.kernel.rows]


def _spectrum(kernel: OrbitKernel, row: BaseRow) -> Parts:
    """Σ_z u(z) e^{iθ_r(z)}/N for every r, in the shape of the row; 1 for r = 0, since u has mean 1."""
    inside = row_members(row).reshape(row.shape).astype(np.float64)
    real, imaginary = inside, np.zeros_like(inside)
    for axis in range(inside.ndim):
        real, imaginary = _along_axis((real, imaginary), axis)
    # u is the high or the low weight over the mean of all, and the low weight alone adds nothing for r ≠ 0.
    gap = (kernel.high - kernel.low) / kernel.mass(row)
    real, imaginary = real * gap, imaginary * gap
    real.flat[0], imaginary.flat[0] = 1.0, 0.0
    return real, imaginary


def _along_axis(values: Parts, axis: int) -> Parts:
    """Σ_z v(z) e^{2πi r z/m} along one axis of length m, entry by entry and in the order of z."""
    real, imaginary = (np.moveaxis(part, axis, 0) for part in values)
    size = len(real)
    cosines, sines = roots_of_unity(size)
    found = np.zeros_like(real), np.zeros_like(real)
    for z in range(size):
        places = np.arange(size) * z % size
        shape = (size,) + (1,) * (real.ndim - 1)
        turned = _times((real[z], imaginary[z]), (cosines[places].reshape(shape), sines[places].reshape(shape)))
        found = found[0] + turned[0], found[1] + turned[1]
    return np.moveaxis(found[0], 0, axis), np.moveaxis(found[1], 0, axis)


def _contributions(spectrum: Parts, width: int, least: int) -> Iterator[tuple[list[int], Floats]]:
    """Slots and (shifts, frequencies from `least` on) H_r of a row, for every set of up to `width` slots."""
    shape = spectrum[0].shape
    shifts = np.indices(shape).reshape(len(shape), -1)
    for involved in range(1, min(width, len(shape)) + 1):
        for slots in combinations(range(len(shape)), involved):
            columns = []
            for values in product(*(range(least, shape[slot]) for slot in slots)):
                frequency = [0] * len(shape)
                for slot, value in zip(slots, values, strict=True):
                    frequency[slot] = value
                turns = [_turn(shape[s], frequency[s] * shifts[s] % shape[s]) for s in slots]
                first = spectrum[0][tuple(frequency)], spectrum[1][tuple(frequency)]
                real, imaginary = reduce(_times, turns, first)
                columns.append(real + imaginary)
            yield list(slots), np.stack(columns, axis=1)


def _turn(size: int, places: Integers) -> Parts:
    cosines, sines = roots_of_unity(size)
    return cosines[places], sines[places]


def _times(left: Parts, right: Parts) -> Parts:
    return left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]


def _largest_square(spectrum: Parts) -> float:
    squares = spectrum[0] * spectrum[0] + spectrum[1] * spectrum[1]
    return float(squares.ravel()[1:].max())


@lru_cache(maxsize=_KEPT)
def roots_of_unity(size: int) -> Parts:
    """(size,) cosines and (size,) sines of 2πj/size, the multiples of 2^-62 that are nearest, as floats.

    Of Taylor's series in integers of 128 binary places.
    """
    whole = _two_pi()
    found = [_cosine_and_sine(j * whole // size if 2 * j <= size else (j - size) * whole // size) for j in range(size)]
    shift = _ANGLE_BITS - _ROOT_BITS
    rounded = [[(value + (1 << (shift - 1)) >> shift) / (1 << _ROOT_BITS) for value in pair] for pair in found]
    cosines, sines = np.array(rounded, dtype=np.float64).T
    return np.ascontiguousarray(cosines), np.ascontiguousarray(sines)


def _cosine_and_sine(angle: int) -> tuple[int, int]:
    """Both of an angle between −π and π, all in multiples of 2^-128, to some tens of these."""
    sums, term, order = [0, 0, 0, 0], 1 << _ANGLE_BITS, 0
    while term not in (0, -1):
        sums[order % 4] += term
        order += 1
        term = (term * angle >> _ANGLE_BITS) // order
    return sums[0] - sums[2], sums[1] - sums[3]


def _two_pi() -> int:
    """2π by Machin: π/4 = 4 arctan(1/5) − arctan(1/239), in multiples of 2^-128."""
    return 8 * (4 * _arctangent(5) - _arctangent(239)) >> 16


def _arctangent(inverse: int) -> int:
    """arctan(1/inverse) in multiples of 2^-144."""
    power, total, order = (1 << (_ANGLE_BITS + 16)) // inverse, 0, 1
    while power:
        total += power // order if order % 4 == 1 else -(power // order)
        power //= inverse * inverse
        order += 2
    return total
