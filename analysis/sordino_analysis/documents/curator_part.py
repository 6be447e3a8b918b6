"""The plan of a trusted curator as a document: what is measured, in whole numbers, and what is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sordino_analysis.documents.queries import Queries
from sordino_analysis.documents.shown_noise import ShownBlock, ShownNoise
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared._checks import check_label, check_name, check_range, set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol.documents import Document

# Digits of a fraction: no numerator of a strategy has more.
_MAX_DIGITS = 80
# Numbers of bits of the characters of a strategy, 0 among them: wider ones have more characters than are measured.
_MOST_SCALES = 64
# Scales of a strategy: more are refused.
_MAX_SCALE = 2**40
# Rows that are measured at most: characters of three of a hundred bits are 166,750.
_MAX_ROWS = 2**20
# As many as a ball has dimensions.
MAX_SUMS = 1024
_MAX_SEED = 2**63 - 1
# What the noise is drawn with: numerators beyond are refused.
_MAX_SCALE_PART = 2**50


@dataclass(frozen=True)
class IntegerRows:
    """R̂, <i8 of shape (r, k)."""

    kind: ClassVar[str] = "rows"
    rows: Array

    def __post_init__(self) -> None:
        self.rows.check_form("<i8", (self.rows.shape[0], self.rows.shape[-1]), "the rows of a strategy")


@dataclass(frozen=True)
class CharacterScales:
    """c_0 … c_w: the whole number that every character of so many bits is measured times."""

    kind: ClassVar[str] = "characters"
    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.scales), 2, _MOST_SCALES, "number of scales")
        for scale in self.scales:
            check_range(scale, 0, _MAX_SCALE, "a scale")


@dataclass(frozen=True)
class SignedSums:
    """T W′: sums of the queries with signs T of ±1 (sums, Q), which follow from the seed; answers are of one histogram.

    Where `separation` α is 0, W′ is W times the least power of two that makes it whole. Else each of its columns is the
    nearest of some of them, in order the first and each that is more than α√Q/2 from all before. See `signed_sums.py`.
    """

    kind: ClassVar[str] = "signed_sums"
    seed: int
    sums: int
    separation: float

    def __post_init__(self) -> None:
        check_range(self.seed, 0, _MAX_SEED, "seed of the signs")
        check_range(self.sums, 1, MAX_SUMS, "number of sums")
        set_finite_floats(self, "separation")
        if self.separation < 0:
            raise InvalidValue(f"types are at least 0 apart, not {self.separation}", self.separation)


@dataclass(frozen=True)
class GaussianNoise:
    """The discrete Gaussian of variance σ², a ratio of whole numbers, on each row; Δ² `squared_sensitivity`."""

    kind: ClassVar[str] = "gaussian"
    squared_sensitivity: str
    variance: str

    def __post_init__(self) -> None:
        check_whole(self.squared_sensitivity, "Δ²")
        check_label(self.variance)

    def shown(self) -> ShownNoise:
        """As JSON shows it."""
        return ShownNoise(squared_sensitivity=int(self.squared_sensitivity), variance=float(Fraction(self.variance)))


@dataclass(frozen=True)
class NoiseBlock:
    """Noise z on the next `rows` rows with P(z) ∝ e^(−‖z‖/s), s = scale[0]/scale[1], on the lattice.

    The norm is `l1`, independent discrete Laplace, or `linf`, the ball of ℓ∞.
    """

    rows: int
    norm: str
    scale: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(self.rows, 1, _MAX_ROWS, "rows of a block of noise")
        if self.norm not in ("l1", "linf"):
            raise InvalidValue(f"the norm of a block of noise is 'l1' or 'linf', got {self.norm!r}", self.norm)
        check_range(len(self.scale), 2, 2, "numbers of a block's scale, numerator and denominator")
        for number in self.scale:
            check_range(number, 1, _MAX_SCALE_PART, "numerator and denominator of a block's scale")

    @property
    def exact_scale(self) -> Fraction:
        """s as a ratio of whole numbers."""
        return Fraction(*self.scale)


@dataclass(frozen=True)
class BlockNoise:
    """Blocks of noise on the rows in order."""

    kind: ClassVar[str] = "blocks"
    blocks: tuple[NoiseBlock, ...]

    def __post_init__(self) -> None:
        check_range(len(self.blocks), 1, _MAX_ROWS, "blocks of noise")

    def shown(self) -> ShownNoise:
        """As JSON shows it."""
        return ShownNoise(
            blocks=tuple(
                ShownBlock(rows=block.rows, norm="l1" if block.norm == "l1" else "linf", scale=float(block.exact_scale))
                for block in self.blocks
            )
        )


@dataclass(frozen=True)
class ProvedBound:
    """γ `norm` and its proof: `query_weights` w, and `weights` P on pairs (k, k), types (k,) or distances (d,) of bits.

    P is None for bits where people are added and removed: there γ is a closed form.
    """

    norm: float
    query_weights: Array
    weights: Array | None
    holds_from_n: str

    def __post_init__(self) -> None:
        set_finite_floats(self, "norm")
        check_whole(self.holds_from_n, "the number of people of a bound")
        self.query_weights.check_form("<f8", self.query_weights.shape[:1], "weights of queries")
        if self.weights is not None:
            self.weights.check_form("<f8", self.weights.shape, "weights of a proof")


@dataclass(frozen=True, kw_only=True)
class CuratorPart(Document):
    """A release under pure ε or under ρ; integers of any size are decimal text, variances are in squared counts.

    A release of signed sums is biased: it has neither variances nor bounds.
    """

    document: ClassVar[str] = "curator_part"
    # Strategies of the largest plans are below: a gibibyte is refused before it is read.
    limit: ClassVar[int] = 1 << 30

    domain: Domain
    workload: str
    queries: Queries
    objective: str
    neighbours: str
    guarantee: PureEpsilon | Zcdp
    strategy: IntegerRows | CharacterScales | SignedSums
    noise: GaussianNoise | BlockNoise
    max_variance: float | None
    mean_variance: float | None
    max_bound: ProvedBound | None
    mean_bound: ProvedBound | None

    def __post_init__(self) -> None:
        check_name(self.workload, "workload name")
        if self.guarantee in (PureEpsilon(0), Zcdp(0)):
            raise InvalidValue(f"a release of {self.guarantee} releases nothing", self.guarantee)
        if isinstance(self.guarantee, Zcdp) != isinstance(self.noise, GaussianNoise):
            raise InvalidValue("Gaussian noise keeps ρ and blocks of noise keep ε, not the reverse", self.noise.kind)
        self._check_figures()
        if self.objective not in ("max", "mean"):
            raise InvalidValue(f"objective must be 'max' or 'mean', got {self.objective!r}", self.objective)
        if self.neighbours not in ("replace", "add-remove"):
            raise InvalidValue(f"neighbours must be 'replace' or 'add-remove', got {self.neighbours!r}")

    def _check_figures(self) -> None:
        variances, bounds = (self.max_variance, self.mean_variance), (self.max_bound, self.mean_bound)
        if not isinstance(self.strategy, SignedSums):
            set_finite_floats(self, "max_variance", "mean_variance")
        elif (*variances, *bounds) != (None,) * 4 or self.neighbours != "replace":
            raise InvalidValue(
                "signed sums answer about a known number of people, without variance or bound", variances
            )


def check_whole(text: str, what: str) -> None:
    """Raise InvalidValue unless the text is a whole number of at most 80 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidValue(f"{what} is a whole number in up to {_MAX_DIGITS} digits, got {text[:_MAX_DIGITS]!r}", text)
