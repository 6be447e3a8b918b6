"""Decoders: how the mean accumulator of reports becomes answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True)
class AnswerDecoder:
    """answers = offset + matrix · s̄ for the mean statistic s̄ (p,): `matrix` (Q, p), `offset` (Q,)."""

    kind: ClassVar[str] = "answers"
    matrix: Array
    offset: Array

    def __post_init__(self) -> None:
        self.matrix.check_form("<f8", (self.offset.shape[0], self.matrix.shape[-1]), "decoder matrix")
        self.offset.check_form("<f8", self.offset.shape[:1], "decoder offset")


@dataclass(frozen=True)
class HistogramDecoder:
    """ĥ = offset + matrix · s̄ (k,), and answers = W ĥ: one matrix (k, p) serves any number of queries."""

    kind: ClassVar[str] = "histogram"
    matrix: Array
    offset: Array

    def __post_init__(self) -> None:
        self.matrix.check_form("<f8", (self.offset.shape[0], self.matrix.shape[-1]), "decoder matrix")
        self.offset.check_form("<f8", self.offset.shape[:1], "decoder offset")


@dataclass(frozen=True)
class ScaledHistogramDecoder:
    """ĥ = offset + slope · s̄ entry by entry, and answers = W ĥ: closed-form kernels need no matrix."""

    kind: ClassVar[str] = "scaled_histogram"
    slope: float
    offset: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "slope", "offset")


@dataclass(frozen=True)
class SubsetDecoder:
    """ĥ_x = Σ_j (slopes[j]·s̄_jx + offsets[j]·Σ_y s̄_jy) for the shares s̄_jx of reports of size s_j that hold x."""

    kind: ClassVar[str] = "subsets"
    slopes: Array
    offsets: Array

    def __post_init__(self) -> None:
        self.slopes.check_form("<f8", self.slopes.shape[:1], "slopes of a decoder")
        self.offsets.check_form("<f8", self.slopes.shape, "offsets of a decoder")


@dataclass(frozen=True)
class CharacterDecoder:
    """Mean characters, row by row and orbit by orbit times a slope, and the answers from their sum over the rows.

    Each block of queries that are alike has its own `slopes` (blocks, rows × orbits), and `offsets` (blocks, rows) that
    a report of the row adds to the block's answers.
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
        weights, groups = self.type_weights.numpy(), self.groups.numpy()
        if weights.min() < 0 or not abs(weights.sum(axis=1) - 1.0).max() <= 1e-9:
            raise InvalidValue("type weights of a decoder are not negative and sum to 1 for each group", weights)
        if not 0 <= groups.min() <= groups.max() < count:
            raise InvalidValue(f"queries are of groups 0 to {count - 1}, not {groups.min()} to {groups.max()}", groups)


Decoder = AnswerDecoder | HistogramDecoder | ScaledHistogramDecoder | SubsetDecoder | CharacterDecoder | WeightedDecoder
