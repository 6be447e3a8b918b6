"""Functions of types that are alike for members of one class of an attribute without an order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False)
class Classes:
    """A function of the types that is alike for members of one class: `values` (r₁, …, k), the ordered axes last.

    `places` has the class of each member of an attribute without an order, `counts` the members of each class.
    """

    values: Floats
    places: tuple[NDArray[np.intp], ...]
    counts: tuple[Floats, ...]

    @classmethod
    def of(cls, cube: Floats, ordered: int = 1) -> Classes:
        """Of a function (c₁, …, k), with so many ordered axes last."""
        places, counts = [], []
        for axis in range(cube.ndim - ordered):
            rows = np.ascontiguousarray(np.moveaxis(cube, axis, 0)).reshape(cube.shape[axis], -1)
            seen: dict[bytes, int] = {}
            place = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
            _, first, count = np.unique(place, return_index=True, return_counts=True)
            cube = np.take(cube, first, axis=axis)
            places.append(place)
            counts.append(count.astype(float))
        return cls(cube, tuple(places), tuple(counts))

    def spread(self, values: Floats) -> Floats:
        """Values of classes as those of all members, (c₁, …, k)."""
        for axis, place in enumerate(self.places):
            values = np.take(values, place, axis=axis)
        return values

    def sums(self, values: Floats) -> Floats:
        """(r₁, …, k) Σ over the members of each class of values of all types, (c₁, …, k)."""
        for axis, (place, count) in enumerate(zip(self.places, self.counts, strict=True)):
            members = place == np.arange(len(count))[:, None]
            values = np.moveaxis(np.tensordot(members.astype(float), values, (1, axis)), 0, axis)
        return values

    def means(self, values: Floats) -> Floats:
        """(k, …) the mean over all members of values (r₁, …, k, …) of the classes."""
        for count in self.counts:
            values = np.tensordot(count / count.sum(), values, (0, 0))
        return np.asarray(values)

    def total(self, values: Floats) -> float:
        """Σ over all types of `values` (r₁, …, k)."""
        for count in self.counts:
            values = np.tensordot(count, values, (0, 0))
        return float(values.sum())
