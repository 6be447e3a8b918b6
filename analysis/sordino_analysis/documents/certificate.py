"""Lower bounds on the variance, with what anyone needs to recheck them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import set_finite_floats
from sordino_shared.arrays import Array


def _check_vectors(what: str, *arrays: Array) -> None:
    """Each of floats, of one dimension and any length."""
    for array in arrays:
        array.check_form("<f8", array.shape[:1], what)


@dataclass(frozen=True)
class LowerBound:
    """Trace bound on one user's variance for unbiased, one-round, non-adaptive mechanisms; rechecked from (ρ, π)."""

    kind: ClassVar[str] = "trace"
    value: float
    query_weights: Array
    type_weights: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        _check_vectors("weights of a bound", self.query_weights, self.type_weights)


@dataclass(frozen=True)
class SubsetBound:
    """The least variance of a histogram where a query's own type weighs `own_weight`; rechecked over subset sizes."""

    kind: ClassVar[str] = "subset_sizes"
    value: float
    own_weight: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "value", "own_weight")


@dataclass(frozen=True, kw_only=True)
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
        _check_vectors("weights of a bound", self.query_weights, self.spectrum, self.multipliers)


@dataclass(frozen=True, kw_only=True)
class PairBound:
    """A bound from products of what bounds two entries of a kernel's row; rechecked from (ρ, π) and multipliers.

    It is about the columns `types` (m,) of W: `type_weights` (m,) and `levels` (m,) have a weight and a multiplier for
    each, `pairs` one for each pair i < j of them, (0, 1), (0, 2), … in order.
    """

    kind: ClassVar[str] = "doubly_nonnegative"
    value: float
    query_weights: Array
    types: Array
    type_weights: Array
    levels: Array
    pairs: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        types = self.types.shape[0]
        _check_vectors("weights of a bound", self.query_weights)
        self.types.check_form("<i4", (types,), "types of a bound")
        for numbers in (self.type_weights, self.levels):
            numbers.check_form("<f8", (types,), "weights and multipliers of a bound")
        self.pairs.check_form("<f8", (types * (types - 1) // 2,), "multipliers of a bound")


@dataclass(frozen=True)
class IntervalBound:
    """The trace bound for prefix sums or ranges of any number of types; rechecked without a matrix.

    `query_density` and `type_density` are weights at evenly spaced points, one number for even weights; those of ranges
    are even.
    """

    kind: ClassVar[str] = "intervals"
    value: float
    query_density: Array
    type_density: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        _check_vectors("density of a bound", self.query_density, self.type_density)


@dataclass(frozen=True)
class StackBound:
    """The trace bound for a stack of queries about one ordered attribute; rechecked from the `shares` of its parts."""

    kind: ClassVar[str] = "stacks"
    value: float
    shares: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        _check_vectors("shares of a bound", self.shares)


@dataclass(frozen=True)
class OddBound:
    """The bound of a workload that an involution of the types takes to its negative; rechecked from (ρ, π)."""

    kind: ClassVar[str] = "odd"
    value: float
    query_weights: Array
    type_weights: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        _check_vectors("weights of a bound", self.query_weights, self.type_weights)


@dataclass(frozen=True)
class OddCharacterBound:
    """The same for symmetric queries through their characters; rechecked from a weight for each block of queries."""

    kind: ClassVar[str] = "odd_characters"
    value: float
    query_weights: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        _check_vectors("weights of a bound", self.query_weights)


@dataclass(frozen=True)
class PinnedBound:
    """A bound for losses with unequal costs through their characters; rechecked from the weights.

    `query_weights` has a weight for each block of queries, `member_weight` is that of the label's second member.
    """

    kind: ClassVar[str] = "pinned_characters"
    value: float
    query_weights: Array
    member_weight: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "value", "member_weight")
        _check_vectors("weights of a bound", self.query_weights)


@dataclass(frozen=True, kw_only=True)
class OwnTypesBound:
    """A bound for the worst query in which each of some threshold queries has type weights of its own.

    `order` (k,) are the types from first to last, `queries` (Q,) those that have one step in this order, by its place.
    `weights` and `numerators` (Q, L + 2) have a number for the types left of a window of L types around the step, for
    each type in it, and for those right of it; `multipliers` (k,) one for each type of `order`.
    """

    kind: ClassVar[str] = "own_types"
    value: float
    order: Array
    queries: Array
    weights: Array
    numerators: Array
    multipliers: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        self.order.check_form("<i4", self.order.shape[:1], "order of a bound's types")
        self.queries.check_form("<i4", self.queries.shape[:1], "queries of a bound")
        cells = (self.queries.shape[0], self.weights.shape[-1])
        for numbers in (self.weights, self.numerators):
            numbers.check_form("<f8", cells, "weights and numerators of a bound")
        self.multipliers.check_form("<f8", self.order.shape, "multipliers of a bound")


@dataclass(frozen=True, kw_only=True)
class MixedTypesBound:
    """A bound for the worst query in which the type weights of threshold queries are mixtures of the same two.

    `order` (k,) and `queries` (Q,) as in `OwnTypesBound`. `type_weights` (2, k) of either part, `shares` (Q, 2) of both
    in each query; `numerators` (Q, 2n) at distances `knots` (n,) from the threshold to the left, then to the right;
    `multipliers` (k,); `nodes` (N,), `slopes` (N − 1, k) of the intervals between them, and by ends of intervals the
    factors of products: `levels` (2N − 2, k), `spans` (2N − 2,), `pairs` ((2N − 2)·G, G) of G groups of types.
    """

    kind: ClassVar[str] = "mixed_types"
    value: float
    order: Array
    queries: Array
    type_weights: Array
    shares: Array
    knots: Array
    numerators: Array
    multipliers: Array
    nodes: Array
    slopes: Array
    levels: Array
    spans: Array
    pairs: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        for places in (self.order, self.queries, self.knots):
            places.check_form("<i4", places.shape[:1], "order, queries and distances of a bound")
        (types,), (queries,), (knots,) = self.order.shape, self.queries.shape, self.knots.shape
        ends, groups = 2 * self.nodes.shape[0] - 2, self.pairs.shape[-1]
        forms = (
            (self.type_weights, (2, types)),
            (self.shares, (queries, 2)),
            (self.numerators, (queries, 2 * knots)),
            (self.multipliers, (types,)),
            (self.nodes, self.nodes.shape[:1]),
            (self.slopes, (ends // 2, types)),
            (self.levels, (ends, types)),
            (self.spans, (ends,)),
            (self.pairs, (ends * groups, groups)),
        )
        for numbers, shape in forms:
            numbers.check_form("<f8", shape, "numbers of a bound")


@dataclass(frozen=True, kw_only=True)
class ListedRowsBound:
    """A bound for few types in which every query has type weights of its own; rechecked over all extreme rows.

    `weights` Λ and `numerators` A have a number for each query and type (Q, k), `multipliers` ν (k,) one for each type.
    """

    kind: ClassVar[str] = "listed_rows"
    value: float
    weights: Array
    numerators: Array
    multipliers: Array

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        entries = (self.weights.shape[0], self.multipliers.shape[0])
        for numbers in (self.weights, self.numerators):
            numbers.check_form("<f8", entries, "weights and numerators of a bound")
        self.multipliers.check_form("<f8", entries[1:], "multipliers of a bound")


@dataclass(frozen=True, kw_only=True)
class SomeTypesBound:
    """The trace bound for some of very many types; rechecked from weights, without the list of all types.

    `types` (m, attributes) has the members of each, `type_weights` (m,). It is about `queries` (s,) with
    `query_weights` (s,), or where both are null about the mean of all that vary, than which the worst is no better.
    """

    kind: ClassVar[str] = "some_types"
    value: float
    types: Array
    type_weights: Array
    queries: Array | None
    query_weights: Array | None

    def __post_init__(self) -> None:
        set_finite_floats(self, "value")
        self.types.check_form("<i8", (self.types.shape[0], self.types.shape[-1]), "types of a bound")
        self.type_weights.check_form("<f8", self.types.shape[:1], "weights of a bound")
        if self.queries is not None and self.query_weights is not None:
            self.queries.check_form("<i8", self.queries.shape[:1], "queries of a bound")
            self.query_weights.check_form("<f8", self.queries.shape, "weights of a bound")


Bound = (
    LowerBound
    | SubsetBound
    | CharacterBound
    | PairBound
    | IntervalBound
    | StackBound
    | OddBound
    | OddCharacterBound
    | PinnedBound
    | OwnTypesBound
    | MixedTypesBound
    | ListedRowsBound
    | SomeTypesBound
)


@dataclass(frozen=True)
class Certificate:
    """Lower bounds for both objectives, with what a stranger needs to recheck them."""

    max: Bound
    mean: Bound
