"""Characters of the group Z_c1 × … × Z_cd of shifts within attributes, in a real basis, and their orbits.

The basis is Hartley's: cas_r(x) = cos θ + sin θ with θ = 2π Σ r_i x_i / c_i, so Σ_x cas_r(x) cas_s(x) = k·1[r = s]. On
binary attributes it is the parity χ_S. The support of r are the attributes where it is not zero. Attributes of equal
size may be exchanged, but for a pinned one, and r and −r are one function's real and imaginary part: what symmetric
kernels know of both is the same, so they share an orbit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats

Integers = NDArray[np.int64]
Support = tuple[int, ...]
# Attributes of one kind may be exchanged: their size, and 1 for the pinned attribute.
Kind = tuple[int, int]
# Kind and frequency of every attribute of the support.
OrbitKey = tuple[tuple[Kind, int], ...]


class Characters:
    """The characters of 1 to `width` attributes of the given sizes, in order: by support, then frequency.

    Supports go by their number of attributes, then lexicographically; frequencies 1 … c−1 of each attribute of the
    support in C order. `count` is p; `cells` (p,) are their places among all characters.
    """

    def __init__(self, shape: Sequence[int], width: int, pinned: int | None = None) -> None:
        self.shape, self.width, self.pinned = tuple(shape), width, pinned
        self.kinds: tuple[Kind, ...] = tuple((size, int(place == pinned)) for place, size in enumerate(self.shape))
        wide = [attribute for attribute, size in enumerate(self.shape) if size > 1]
        involved = range(1, min(width, len(wide)) + 1)
        self.supports: tuple[Support, ...] = tuple(s for count in involved for s in combinations(wide, count))
        lengths = [math.prod(self.shape[attribute] - 1 for attribute in support) for support in self.supports]
        self.starts = dict(zip(self.supports, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
        self.count = sum(lengths)

    @cached_property
    def table_starts(self) -> dict[Support, int]:
        """Where each support's frequencies begin if all of them are listed, 0 … c−1 of each attribute."""
        lengths = [math.prod(self.shape[attribute] for attribute in support) for support in self.supports]
        return dict(zip(self.supports, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))

    def slot_kinds(self, sizes: Sequence[int]) -> tuple[Kind, ...]:
        """The kinds of attributes that the slots of a row take: the pinned one has the first slot."""
        return tuple((size, int(self.pinned is not None and slot == 0)) for slot, size in enumerate(sizes))

    def places(self, support: Support) -> Integers:
        """(Π c,) where each local frequency r in C order stands: 0 for r = 0, 1 + its number otherwise."""
        sizes = [self.shape[attribute] for attribute in support]
        places = np.zeros(sizes, dtype=np.int64)
        for count in range(1, len(support) + 1):
            for axes in combinations(range(len(support)), count):
                inner = tuple(support[axis] for axis in axes)
                window = tuple(slice(1, None) if axis in axes else 0 for axis in range(len(support)))
                lengths = [sizes[axis] - 1 for axis in axes]
                places[window] = 1 + self.starts[inner] + np.arange(math.prod(lengths)).reshape(lengths)
        return places.ravel()

    @cached_property
    def cells(self) -> Integers:
        """(p,) flat index of every character among the k."""
        strides = np.append(np.cumprod(np.array(self.shape[:0:-1], dtype=np.int64))[::-1], 1)
        found = [np.zeros(0, dtype=np.int64)]
        for support in self.supports:
            axes = [strides[a] * np.arange(1, self.shape[a]) for a in support]
            total = axes[0]
            for axis in axes[1:]:
                total = np.add.outer(total, axis)
            found.append(total.ravel())
        return np.concatenate(found)

    @cached_property
    def _orbits(self) -> tuple[Integers, tuple[OrbitKey, ...]]:
        numbers: dict[OrbitKey, int] = {}
        by_pattern: dict[tuple[Kind, ...], Integers] = {}
        found = [np.zeros(0, dtype=np.int64)]
        for support in self.supports:
            kinds = tuple(self.kinds[attribute] for attribute in support)
            if kinds not in by_pattern:
                keys = (orbit_key(kinds, r) for r in product(*(range(1, size) for size, _ in kinds)))
                by_pattern[kinds] = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
            found.append(by_pattern[kinds])
        return np.concatenate(found), tuple(numbers)

    @property
    def orbit_of(self) -> Integers:
        """(p,) number of every character's orbit."""
        return self._orbits[0]

    @property
    def orbits(self) -> tuple[OrbitKey, ...]:
        """The key of every orbit, in order of first appearance."""
        return self._orbits[1]

    @cached_property
    def orbit_numbers(self) -> dict[OrbitKey, int]:
        """The number of the orbit with each key."""
        return {key: number for number, key in enumerate(self.orbits)}

    @cached_property
    def orbit_sizes(self) -> Floats:
        """(orbits,) how many characters are in each."""
        return np.bincount(self.orbit_of, minlength=len(self.orbits)).astype(float)

    def transform(self, histogram: Floats) -> Floats:
        """(p, …) Σ_x h(x) cas_r(x) of (k, …) histograms."""
        return np.asarray(hartley(histogram, self.shape)[self.cells])

    def spread(self, coefficients: Floats, constant: Floats) -> Floats:
        """(k, …) constant + Σ_r coefficient_r cas_r(x) at every x, of (p, …) coefficients."""
        whole = np.zeros((math.prod(self.shape), *coefficients.shape[1:]))
        whole[self.cells] = coefficients
        whole[0] = constant
        return hartley(whole, self.shape)


def orbit_key(kinds: Sequence[Kind], frequencies: Sequence[int]) -> OrbitKey:
    """What (kind, frequency) pairs keep when attributes of one kind are exchanged and r becomes −r."""
    there = tuple(sorted((kind, r) for kind, r in zip(kinds, frequencies, strict=True) if r))
    back = tuple(sorted((kind, kind[0] - r) for kind, r in there))
    return min(there, back)


def shifted_cells(shape: Sequence[int]) -> Integers:
    """(K, K) index of x − a for rows a and columns x, in C order modulo the sizes."""
    cells = np.indices(shape).reshape(len(shape), -1)
    moved = (cells[:, None, :] - cells[:, :, None]) % np.array(shape)[:, None, None]
    return np.asarray(np.ravel_multi_index(tuple(moved), shape))


def hartley(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Σ_x v(x) cas_r(x) for every r: its own inverse up to the factor k; a trailing axis is carried along.

    `values` (k,) or (k, b); the result has the same shape.
    """
    if all(size <= 2 for size in shape):
        return _walsh_hadamard(values)
    cube = np.fft.fftn(values.reshape(*shape, -1), axes=tuple(range(len(shape))))
    return np.asarray((cube.real - cube.imag).reshape(values.shape))


def cas_table(shape: Sequence[int]) -> Floats:
    """(K, K) cas_r(x), symmetric."""
    size = math.prod(shape)
    return hartley(np.eye(size), tuple(shape))


def _walsh_hadamard(values: Floats) -> Floats:
    result, half = values.astype(float), 1
    while half < len(values):
        pairs = result.reshape(-1, 2, half, *values.shape[1:])
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(values.shape)
        half *= 2
    return result
