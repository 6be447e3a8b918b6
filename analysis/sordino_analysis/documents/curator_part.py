"""The plan of a trusted curator as a document: what is measured, in whole numbers, and what is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_analysis.documents.queries import Queries
from sordino_shared._checks import check_label, check_name, check_range, set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import MAX_NANO
from sordino_shared.protocol.documents import Document

# Digits of a fraction: no numerator of a strategy has more.
_MAX_DIGITS = 80
# Scales of a strategy: more are refused.
_MAX_SCALE = 2**40


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
        check_range(len(self.scales), 2, 64, "number of scales")
        for scale in self.scales:
            check_range(scale, 0, _MAX_SCALE, "a scale")


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
    """A release of ρ = nano_rho·10⁻⁹; integers of any size are decimal text, variances are in squared counts."""

    document: ClassVar[str] = "curator_part"
    # Strategies of the largest plans are below: a gibibyte is refused before it is read.
    limit: ClassVar[int] = 1 << 30

    domain: Domain
    workload: str
    queries: Queries
    objective: str
    neighbours: str
    nano_rho: int
    strategy: IntegerRows | CharacterScales
    squared_sensitivity: str
    noise_variance: str
    max_variance: float
    mean_variance: float
    max_bound: ProvedBound | None
    mean_bound: ProvedBound | None

    def __post_init__(self) -> None:
        check_name(self.workload, "workload name")
        check_label(self.noise_variance)
        check_range(self.nano_rho, 1, MAX_NANO, "ρ in nano-ρ")
        check_whole(self.squared_sensitivity, "Δ²")
        set_finite_floats(self, "max_variance", "mean_variance")
        if self.objective not in ("max", "mean"):
            raise InvalidValue(f"objective must be 'max' or 'mean', got {self.objective!r}", self.objective)
        if self.neighbours not in ("replace", "add-remove"):
            raise InvalidValue(f"neighbours must be 'replace' or 'add-remove', got {self.neighbours!r}")


def check_whole(text: str, what: str) -> None:
    """Raise InvalidValue unless the text is a whole number of at most 80 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidValue(f"{what} is a whole number in up to {_MAX_DIGITS} digits, got {text[:_MAX_DIGITS]!r}", text)
