"""The two content-addressed parts of a plan: what a device needs for any value, and what an analyst needs besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import check_label, check_name, check_range, set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.protocol.codec import MAX_ITEMS
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import Digest
from sordino_shared.randomizers import AnyRandomizer
from sordino_shared.randomizers.orbit_kernel import MAX_ATTRIBUTES as MAX_WIDTH

# Half of what a document may hold in items.
MAX_LABELS = MAX_ITEMS // 2


@dataclass(frozen=True)
class DevicePart(Document):
    """Domain, claimed guarantee and randomizer: all a device needs, whatever value it holds."""

    document: ClassVar[str] = "device_part"
    limit: ClassVar[int] = 64 << 20
    # What a device fetches and verifies unless its app allows more.
    usual_limit: ClassVar[int] = 1 << 20

    domain: Domain
    guarantee: PureEpsilon
    randomizer: AnyRandomizer

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)
        if self.randomizer.size != self.domain.size:
            raise InvalidValue(
                f"the randomizer is for {self.randomizer.size} types, the domain has {self.domain.size}",
                self.randomizer.size,
            )


@dataclass(frozen=True)
class ProductQueries:
    """One kind of query an attribute (histogram, prefix, ranges, total); the workload is their Kronecker product."""

    kind: ClassVar[str] = "product"
    factors: tuple[str, ...]

    def __post_init__(self) -> None:
        check_range(len(self.factors), 1, MAX_LABELS, "number of factors")
        for factor in self.factors:
            check_name(factor, "kind of query")


@dataclass(frozen=True)
class MatrixQueries:
    """Queries given as the rows of a matrix, <f8 of shape (Q, k), with a label each."""

    kind: ClassVar[str] = "matrix"
    matrix: Array
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        check_range(len(self.labels), 1, MAX_LABELS, "number of queries with a label")
        for label in self.labels:
            check_label(label)
        self.matrix.check_form("<f8", (len(self.labels), self.matrix.shape[-1]), "query matrix")


@dataclass(frozen=True)
class ParityQueries:
    """(−1)^(Σ x_i over S) for the non-empty sets S of up to `width` attributes of two members, or of exactly as many.

    Sets go by their number of attributes, then lexicographically.
    """

    kind: ClassVar[str] = "parities"
    width: int
    exactly: bool

    def __post_init__(self) -> None:
        check_range(self.width, 1, MAX_WIDTH, "width of the parities")


@dataclass(frozen=True)
class MarginalQueries:
    """The share of every cell of the sets of up to `width` attributes, or of exactly as many.

    Attributes of one member are left out. Sets go as those of parities, the cells of one in C order.
    """

    kind: ClassVar[str] = "marginals"
    width: int
    exactly: bool

    def __post_init__(self) -> None:
        check_range(self.width, 1, MAX_WIDTH, "width of the marginals")


@dataclass(frozen=True)
class StackedQueries:
    """A part of a stack; the variances of its queries count `weight` times in the objective."""

    queries: ProductQueries | MatrixQueries | ParityQueries | MarginalQueries
    weight: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "weight")
        if self.weight <= 0:
            raise InvalidValue(f"the weight of a part must be above 0, got {self.weight}", self.weight)


@dataclass(frozen=True)
class StackQueries:
    """The queries of every part, one part after the other."""

    kind: ClassVar[str] = "stack"
    parts: tuple[StackedQueries, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValue("a stack needs at least one part", self.parts)


Queries = ProductQueries | MatrixQueries | ParityQueries | MarginalQueries | StackQueries


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
class LowerBound:
    """Trace bound on one user's variance for unbiased, one-round, non-adaptive mechanisms; rechecked from (ρ, π)."""

    kind: ClassVar[str] = "trace"
    value: float
    query_weights: Array
    type_weights: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        for weights in (self.query_weights, self.type_weights):
            weights.check_form("<f8", weights.shape[:1], "weights of a bound")


@dataclass(frozen=True)
class SubsetBound:
    """The least variance of a histogram where a query's own type weighs `own_weight`; rechecked over subset sizes."""

    kind: ClassVar[str] = "subset_sizes"
    value: float
    own_weight: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "value", "own_weight")


@dataclass(frozen=True)
class CharacterBound:
    """A bound for symmetric queries through their characters; rechecked from weights and multipliers.

    `query_weights` has a weight for each block of queries alike, `spectrum` c one for each orbit of characters that
    queries use, `multipliers` g ≥ c one for each orbit of all characters but the constant one, `level` one number.
    """

    kind: ClassVar[str] = "character_orbits"
    value: float
    query_weights: Array
    spectrum: Array
    multipliers: Array
    level: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "value", "level")
        for weights in (self.query_weights, self.spectrum, self.multipliers):
            weights.check_form("<f8", weights.shape[:1], "weights of a bound")


@dataclass(frozen=True)
class PairBound:
    """A bound from products of what bounds two entries of a kernel's row; rechecked from (ρ, π) and multipliers.

    `levels` (k,) has a multiplier for each type, `pairs` one for each pair x < y of types, (0, 1), (0, 2), … in order.
    """

    kind: ClassVar[str] = "doubly_nonnegative"
    value: float
    query_weights: Array
    type_weights: Array
    levels: Array
    pairs: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        types = self.type_weights.shape[0]
        self.query_weights.check_form("<f8", self.query_weights.shape[:1], "weights of a bound")
        for numbers in (self.type_weights, self.levels):
            numbers.check_form("<f8", (types,), "weights and multipliers of a bound")
        self.pairs.check_form("<f8", (types * (types - 1) // 2,), "multipliers of a bound")


Bound = LowerBound | SubsetBound | CharacterBound | PairBound


@dataclass(frozen=True)
class Certificate:
    """Lower bounds for both objectives, with what a stranger needs to recheck them."""

    max: Bound
    mean: Bound


@dataclass(frozen=True)
class Figures:
    """One user's exact variances under the shipped randomizer and decoder, and the exact bound on the bias.

    None is below 0: a variance that is was made by a formula that does not hold for the workload.
    """

    max_variance: float
    mean_variance: float
    bias_bound: float

    def __post_init__(self) -> None:
        names = ("max_variance", "mean_variance", "bias_bound")
        set_finite_floats(self, *names)
        for name in names:
            if (value := getattr(self, name)) < 0:
                raise InvalidValue(f"{name} must not be below 0, got {value}", value)


@dataclass(frozen=True)
class AnalystPart(Document):
    """Workload, decoder, factors, certificate and figures of the plan whose device part has `device_digest`."""

    document: ClassVar[str] = "analyst_part"
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
    figures: Figures

    def __post_init__(self) -> None:
        check_name(self.workload, "workload name")
        check_name(self.mechanism, "mechanism")
        if self.objective not in ("max", "mean"):
            raise InvalidValue(f"objective must be 'max' or 'mean', got {self.objective!r}", self.objective)
        check_range(self.seed, 0, 2**63 - 1, "seed")


@dataclass(frozen=True)
class PlanReference:
    """A plan by the digests of its two parts."""

    device: Digest
    analyst: Digest
