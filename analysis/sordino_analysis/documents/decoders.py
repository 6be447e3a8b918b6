"""Decoders: how the mean accumulator of reports becomes answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.string_queries import StringsDecoder
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared._checks import set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue


class QueryMap(Protocol):
    """The queries W (Q, k) as decoders read them."""

    def rows(self, start: int, stop: int) -> Floats:
        """W[start:stop]. Dense, (stop − start, k)."""

    def matvec(self, vector: Floats, /) -> Floats:
        """W h for h (k,)."""


class LinearDecoder(ABC):
    """answers = offset + F s̄ for the mean accumulator s̄ (p,); the decoder and the queries W determine F (Q, p)."""

    @abstractmethod
    def rows(self, queries: QueryMap, start: int, stop: int) -> tuple[Floats, Floats]:
        """F[start:stop] (b, p) and offset[start:stop] (b,)."""

    @abstractmethod
    def answers(self, queries: QueryMap, mean: Floats) -> Floats:
        """(Q,) answers from s̄ (p,)."""

    @abstractmethod
    def shape(self, types: int) -> tuple[int, int]:
        """(rows, p) of the decoder's own matrix for k `types`; rows are queries or types."""

    def height(self, queries: int, types: int) -> int:
        """How many rows the matrix must have: one for each type, unless the decoder gives answers."""
        return types

    def set_terms(self, sizes: tuple[int, ...]) -> list[tuple[float, float]] | None:
        """(slope, offset) for each size of sets; None where the decoder has no such form.

        A report that is a set S adds slope·|S ∩ q| + offset·|q| to the answer of a query q of zeros and ones.
        """
        return None


class ToHistogram(LinearDecoder):
    """Decodes a histogram ĥ (k,) first; answers = W ĥ."""

    @abstractmethod
    def histogram(self, mean: Floats) -> Floats:
        """ĥ (k,) from s̄ (p,)."""

    @abstractmethod
    def histogram_rows(self, types: int) -> Floats:
        """The matrix (k, p) that gives ĥ up to a constant."""

    def answers(self, queries: QueryMap, mean: Floats) -> Floats:
        return queries.matvec(self.histogram(mean))


@dataclass(frozen=True)
class _AffineMap:
    """offset + matrix · s̄ for the mean accumulator s̄ (p,): `matrix` (n, p), `offset` (n,)."""

    matrix: Array
    offset: Array

    def __post_init__(self) -> None:
        self.matrix.check_form("<f8", (self.offset.shape[0], self.matrix.shape[-1]), "decoder matrix")
        self.offset.check_form("<f8", self.offset.shape[:1], "decoder offset")

    def shape(self, types: int) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def _applied(self, mean: Floats) -> Floats:
        return np.asarray(ndarray(self.offset) + ndarray(self.matrix) @ mean)


@dataclass(frozen=True)
class AnswerDecoder(_AffineMap, LinearDecoder):
    """answers = offset + matrix · s̄: `matrix` (Q, p), `offset` (Q,)."""

    kind: ClassVar[str] = "answers"

    def rows(self, queries: QueryMap, start: int, stop: int) -> tuple[Floats, Floats]:
        return ndarray(self.matrix)[start:stop], ndarray(self.offset)[start:stop]

    def answers(self, queries: QueryMap, mean: Floats) -> Floats:
        return self._applied(mean)

    def height(self, queries: int, types: int) -> int:
        return queries


@dataclass(frozen=True)
class HistogramDecoder(_AffineMap, ToHistogram):
    """ĥ = offset + matrix · s̄ (k,), and answers = W ĥ: one matrix (k, p) serves any number of queries."""

    kind: ClassVar[str] = "histogram"

    def rows(self, queries: QueryMap, start: int, stop: int) -> tuple[Floats, Floats]:
        rows = queries.rows(start, stop)
        return rows @ ndarray(self.matrix), rows @ ndarray(self.offset)

    def histogram(self, mean: Floats) -> Floats:
        return self._applied(mean)

    def histogram_rows(self, types: int) -> Floats:
        return np.asarray(ndarray(self.matrix))


@dataclass(frozen=True)
class ScaledHistogramDecoder(ToHistogram):
    """ĥ = offset + slope · s̄ entry by entry, and answers = W ĥ: closed-form kernels need no matrix."""

    kind: ClassVar[str] = "scaled_histogram"
    slope: float
    offset: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "slope", "offset")

    def rows(self, queries: QueryMap, start: int, stop: int) -> tuple[Floats, Floats]:
        rows = queries.rows(start, stop)
        return self.slope * rows, np.asarray(self.offset * rows.sum(axis=1))

    def histogram(self, mean: Floats) -> Floats:
        return self.offset + self.slope * mean

    def shape(self, types: int) -> tuple[int, int]:
        return types, types

    def histogram_rows(self, types: int) -> Floats:
        return self.slope * np.eye(types)

    def set_terms(self, sizes: tuple[int, ...]) -> list[tuple[float, float]]:
        return [(self.slope, self.offset)] * len(sizes)


@dataclass(frozen=True)
class SubsetDecoder(ToHistogram):
    """ĥ_x = Σ_j (slopes[j]·s̄_jx + offsets[j]·Σ_y s̄_jy) for the shares s̄_jx of reports of size s_j that hold x."""

    kind: ClassVar[str] = "subsets"
    slopes: Array
    offsets: Array

    def __post_init__(self) -> None:
        self.slopes.check_form("<f8", self.slopes.shape[:1], "slopes of a decoder")
        self.offsets.check_form("<f8", self.slopes.shape, "offsets of a decoder")

    def rows(self, queries: QueryMap, start: int, stop: int) -> tuple[Floats, Floats]:
        rows = queries.rows(start, stop)
        sums = rows.sum(axis=1, keepdims=True)
        return np.hstack([slope * rows + offset * sums for slope, offset in self._pairs()]), np.zeros(len(rows))

    def histogram(self, mean: Floats) -> Floats:
        by_size = mean.reshape(self.slopes.shape[0], -1)
        return np.asarray(ndarray(self.slopes) @ by_size + ndarray(self.offsets) @ by_size.sum(axis=1))

    def shape(self, types: int) -> tuple[int, int]:
        return types, self.slopes.shape[0] * types

    def histogram_rows(self, types: int) -> Floats:
        return np.hstack([slope * np.eye(types) + offset for slope, offset in self._pairs()])

    def set_terms(self, sizes: tuple[int, ...]) -> list[tuple[float, float]]:
        return [(slope, size * offset) for (slope, offset), size in zip(self._pairs(), sizes, strict=True)]

    def _pairs(self) -> list[tuple[float, float]]:
        """(slope, offset) of every size."""
        return list(zip(ndarray(self.slopes).tolist(), ndarray(self.offsets).tolist(), strict=True))


@dataclass(frozen=True)
class CharacterDecoder:
    """Mean characters, row by row and orbit by orbit times a slope, and the answers from their sum over the rows.

    Each block of queries that are alike has its own `slopes` (blocks, rows × orbits), and `offsets` (blocks, rows) that
    a report of the row adds to the block's answers; or all of them share (1, orbits) and (1, 1).
    """

    kind: ClassVar[str] = "characters"
    slopes: Array
    offsets: Array

    def __post_init__(self) -> None:
        self.slopes.check_form("<f8", (self.slopes.shape[0], self.slopes.shape[-1]), "slopes of a decoder")
        self.offsets.check_form("<f8", (self.slopes.shape[0], self.offsets.shape[-1]), "offsets of a decoder")


@dataclass(frozen=True)
class WeightedDecoder:
    """answers = V s̄ for a finite kernel, V_q = W_q (KᵀD⁻¹K)⁻¹KᵀD⁻¹ with D = diag(Kπ) for the π of the query's group.

    `type_weights` (g, k) has a π for each group, `groups` (Q,) the row of each query.
    """

    kind: ClassVar[str] = "type_weights"
    type_weights: Array
    groups: Array

    def __post_init__(self) -> None:
        count = self.type_weights.shape[0]
        self.type_weights.check_form("<f8", (count, self.type_weights.shape[-1]), "type weights of a decoder")
        self.groups.check_form("<i4", self.groups.shape[:1], "groups of queries")
        weights, groups = ndarray(self.type_weights), ndarray(self.groups)
        if weights.min() < 0 or not abs(weights.sum(axis=1) - 1.0).max() <= SUM_TOLERANCE:
            raise InvalidValue("type weights of a decoder are not negative and sum to 1 for each group", weights)
        if not 0 <= groups.min() <= groups.max() < count:
            raise InvalidValue(f"queries are of groups 0 to {count - 1}, not {groups.min()} to {groups.max()}", groups)


@dataclass(frozen=True)
class GridDecoder:
    """The unbiased decoder of shifted grids, which the device part and the query determine.

    A report of level ℓ counts t + f_ℓ Σ_x β_x(u_x − 1) for a query v, with Mβ = v − c1 and t = c + 1ᵀβ. `factors` (L,)
    are the f of the levels where they were chosen for the largest variance; without them f is that for the mean.
    """

    kind: ClassVar[str] = "grids"
    factors: Array | None = None

    def __post_init__(self) -> None:
        if self.factors is None:
            return
        self.factors.check_form("<f8", self.factors.shape[:1], "factors of a decoder")
        if not (ndarray(self.factors) > 0).all():
            raise InvalidValue("what the reports of a level count is above 0", ndarray(self.factors))


PlainDecoder = (
    AnswerDecoder | HistogramDecoder | ScaledHistogramDecoder | SubsetDecoder | CharacterDecoder | GridDecoder
)
Decoder = PlainDecoder | WeightedDecoder | StringsDecoder
