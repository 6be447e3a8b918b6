"""Searching half of a kernel: where W is the same when its types are read backwards, so may the kernel be.

Prefix sums over 4 bins, read backwards, are the complements of prefix sums: variances do not notice. A kernel mixed
with its own reflection is no worse for any of the objectives, which are convex. So a search keeps one of every two
mirrored rows, and its arrays are half as long; sums over outputs get what the mirrored rows add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.questions.linear.operators import Indices

Entry = TypeVar("Entry", bound=np.generic)

# Relative to the largest entry of W.
_EQUAL = 1e-9
# Equal entries round to the same of so many times larger units, whatever rounding adds.
_UNITS = 2**10


@dataclass(frozen=True, eq=False)
class Image:
    """W_{queries[q], types[x]} = signs[q]·W_qx for a W whose rows sum to zero; an even number of types, read backwards.

    `queries` is a permutation that is its own inverse.
    """

    types: Indices
    queries: Indices
    signs: Floats


@dataclass(frozen=True, eq=False)
class Images:
    """What the mirrored rows add to sums over the outputs; nothing where there is no `image`."""

    image: Image | None = None

    @property
    def copies(self) -> int:
        """How many rows stand for each that is kept."""
        return 1 if self.image is None else 2

    def by_type(self, sums: Floats) -> Floats:
        """Σ_y over all outputs of (k,) sums over those that are kept."""
        return sums if self.image is None else sums + sums[self.image.types]

    def by_types(self, sums: Floats) -> Floats:
        """The same of (k, k) sums of products of two entries of a row."""
        return sums if self.image is None else sums + sums[np.ix_(self.image.types, self.image.types)]

    def of_answers(self, sums: Floats) -> Floats:
        """The same of (Q, k) sums of a decoder's entry and a row's."""
        return sums if self.image is None else sums + self.image.signs[:, None] * self._mirrored(self.image, sums)

    def of_squares(self, sums: Floats) -> Floats:
        """The same of (Q, k) sums of a decoder's squared entry and a row's."""
        return sums if self.image is None else sums + self._mirrored(self.image, sums)

    def folded(self, rows: Floats) -> Floats:
        """(m, k or k/2) A with A z = rows · (z and its mirror image): what rows know of even vectors."""
        if self.image is None:
            return rows
        half = rows.shape[1] // 2
        return np.asarray(rows[:, :half] + rows[:, : half - 1 : -1])

    def unfolded(self, values: Floats) -> Floats:
        """(k,) the even vector whose first half is given."""
        return values if self.image is None else np.concatenate([values, values[::-1]])

    def parts(self, rows: Floats) -> list[Floats]:
        """Even and odd part (m, k/2) of the rows: Σ of products over rows and images is that of either's products."""
        if self.image is None:
            return [rows]
        half = rows.shape[1] // 2
        first, second = rows[:, :half], rows[:, : half - 1 : -1]
        return [first + second, first - second]

    def joined(self, parts: list[Floats]) -> Floats:
        """(m, k) the rows of these parts."""
        if self.image is None:
            return parts[0]
        even, odd = parts
        return np.hstack([even + odd, (even - odd)[:, ::-1]]) / 2

    def blocks(self, square: Floats) -> list[Floats]:
        """What a (k, k) matrix that is its own image does to even and to odd vectors."""
        if self.image is None:
            return [square]
        half = len(square) // 2
        first, second = square[:half, :half], square[:half, : half - 1 : -1]
        return [first + second, first - second]

    def even(self, weights: Floats) -> Floats:
        """(k,) weights of types, averaged with their image."""
        return self.by_type(weights) / self.copies

    def even_queries(self, weights: Floats) -> Floats:
        """(Q,) weights of queries, averaged with their image."""
        return weights if self.image is None else (weights + weights[self.image.queries]) / 2

    def kept_queries(self, queries: int) -> Indices:
        """(h,) indices of one of every two queries that are images of each other, or of all."""
        every = np.arange(queries)
        return every if self.image is None else every[every <= self.image.queries]

    def mirrored_queries(self, values: Floats) -> Floats:
        """(Q, k) numbers of all queries from those of the kept ones, which change as the queries do."""
        if self.image is None:
            return values
        kept, mirrored = self.kept_queries(len(values)), values.copy()
        turned = self.image.signs[kept, None] * values[kept]
        mirrored[self.image.queries[kept, None], self.image.types] = turned
        mirrored[kept] = values[kept]
        return mirrored

    def kept_types(self, types: int) -> Indices:
        """(h,) indices of one of every two mirrored types, or of all."""
        every = np.arange(types)
        return every if self.image is None else every[every <= self.image.types]

    def all_rows(self, rows: NDArray[Entry]) -> NDArray[Entry]:
        """(copies·m, k) the rows (m, k) and their images."""
        return rows if self.image is None else np.vstack([rows, rows[:, self.image.types]])

    def one_of_each(self, members: Mask, weights: Floats) -> tuple[Mask, Floats]:
        """Sets (m, k) and weights (m,) of whole kernels → those kept: the image that comes first, each set once."""
        if self.image is None:
            return members, weights
        kept, inverse = np.unique(self._first(self.image, members), axis=0, return_inverse=True)
        return kept, np.bincount(inverse.ravel(), weights) / self.copies

    def distinct(self, members: Mask) -> Mask:
        """(n, k) the sets of which no two are equal or images of each other."""
        return np.unique(members if self.image is None else self._first(self.image, members), axis=0)

    def all_outputs(self, decoder: Floats) -> Floats:
        """(Q, copies·m) a decoder's entries for the rows and their images."""
        if self.image is None:
            return decoder
        return np.hstack([decoder, self.image.signs[:, None] * decoder[self.image.queries]])

    @staticmethod
    def _first(image: Image, members: Mask) -> Mask:
        """Each set or its image, whichever holds the type where they first differ."""
        mirrored = members[:, image.types]
        differ = members != mirrored
        first = differ.argmax(axis=1)
        swapped = mirrored[np.arange(len(members)), first] & differ.any(axis=1)
        return np.where(swapped[:, None], mirrored, members)

    @staticmethod
    def _mirrored(image: Image, sums: Floats) -> Floats:
        return np.asarray(sums[np.ix_(image.queries, image.types)])


NO_IMAGES = Images()


def reflected(matrix: Floats) -> Images:
    """The images under x → k − 1 − x of W (Q, k), whose rows sum to zero; none where W changes, or k is odd."""
    if matrix.shape[1] % 2:
        return NO_IMAGES
    unit = _EQUAL * max(1.0, float(np.abs(matrix).max())) * _UNITS
    mirrored = matrix[:, ::-1]
    signs = np.ones(len(matrix))
    places: dict[bytes, int] = {}
    for query, row in enumerate(np.rint(matrix / unit)):
        places.setdefault((row + 0.0).tobytes(), query)
    if len(places) < len(matrix):
        return NO_IMAGES
    queries = np.empty(len(matrix), dtype=np.intp)
    for query, row in enumerate(np.rint(mirrored / unit)):
        same, opposite = places.get((row + 0.0).tobytes()), places.get((0.0 - row + 0.0).tobytes())
        if same is not None:
            queries[query], signs[query] = same, 1.0
        elif opposite is not None:
            queries[query], signs[query] = opposite, -1.0
        else:
            return NO_IMAGES
    if not (queries[queries] == np.arange(len(matrix))).all():
        return NO_IMAGES
    return Images(Image(np.arange(matrix.shape[1])[::-1], queries, signs))
