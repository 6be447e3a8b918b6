"""The analyst part of a plan: workload, decoder, factors, certificate and error figures."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.documents.certificate import Certificate
from sordino_analysis.documents.decoders import Decoder
from sordino_analysis.documents.queries import Queries
from sordino_shared._checks import check_label, check_name, check_range, set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import Digest


@dataclass(frozen=True)
class Factors:
    """W = LᵀR + c1ᵀ (up to the stated bias): L is (r, Q), R (r, k), c (Q,).

    `left` and `right` are the factors before a reduction; `transform` is T (ℓ, r) if it reduced them to TL and TR.
    """

    left: Array
    right: Array
    centre: Array
    transform: Array | None

    def __post_init__(self) -> None:
        rank = self.left.shape[0]
        self.left.check_form("<f8", (rank, self.centre.shape[0]), "factor L")
        self.right.check_form("<f8", (rank, self.right.shape[-1]), "factor R")
        if self.transform is not None:
            self.transform.check_form("<f8", (self.transform.shape[0], rank), "transform T")


@dataclass(frozen=True)
class ErrorFigures:
    """One user's exact variances under the shipped randomizer and decoder, and the exact bound on the bias.

    `max_variance` is the largest of all queries and types where `max_variance_over` is None, which else says of which
    queries it is; `mean_variance` is that of the worst type over all queries, or over those of `mean_variance_over`.
    `uniform_mean_variance` is the mean over the same queries and all types, where it is published.
    None is below 0: a variance that is was made by a formula that does not hold for the workload.
    """

    max_variance: float
    mean_variance: float
    bias_bound: float
    _: KW_ONLY
    max_variance_over: str | None = None
    mean_variance_over: str | None = None
    uniform_mean_variance: float | None = None

    def __post_init__(self) -> None:
        for over in (self.max_variance_over, self.mean_variance_over):
            if over is not None:
                check_label(over)
        names = ["max_variance", "mean_variance", "bias_bound"]
        if self.uniform_mean_variance is not None:
            names.append("uniform_mean_variance")
        set_finite_floats(self, *names)
        for name in names:
            if (value := getattr(self, name)) < 0:
                raise InvalidValue(f"{name} must not be below 0, got {value}", value)


@dataclass(frozen=True, kw_only=True)
class AnalystPart(Document):
    """Workload, decoder, factors, certificate and figures of the plan whose device part has `device_digest`.

    `blanket` is what a shuffler has to add, null where devices report to the server.
    """

    document: ClassVar[str] = "analyst_part"
    # Decoders of the largest plans are below: a gibibyte is refused before it is read.
    limit: ClassVar[int] = 1 << 30

    device_digest: Digest
    workload: str
    queries: Queries
    mechanism: str
    objective: str
    seed: int
    decoder: Decoder
    factors: Factors | None
    certificate: Certificate
    figures: ErrorFigures
    blanket: BlanketTerms | None = None

    def __post_init__(self) -> None:
        check_name(self.workload, "workload name")
        check_name(self.mechanism, "mechanism")
        if self.objective not in ("max", "mean"):
            raise InvalidValue(f"objective must be 'max' or 'mean', got {self.objective!r}", self.objective)
        check_range(self.seed, 0, 2**63 - 1, "seed")
