"""Queries of a plan as the analyst part publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.documents.string_queries import StringQueries
from sordino_shared._checks import check_label, check_name, check_range, set_finite_floats
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.codec import MAX_ITEMS
from sordino_shared.randomizers.orbit_kernel import MAX_ATTRIBUTES as MAX_WIDTH

# Half of what a document may hold in items.
MAX_LABELS = MAX_ITEMS // 2
# The widest rules of any class: see `WIDEST` of rules.
MAX_CONCEPT_WIDTH = 8
FAMILIES = ("conjunctions", "clauses", "parities", "juntas", "lists")
ARRANGED_FAMILIES = ("conjunctions", "clauses", "lists", "parities")
ORDERED_FAMILIES = ("thresholds", "intervals", "boxes")


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
class IndicatorQueries:
    """(−1)^x for each attribute x of two members; the means of these answer a known rule on average over databases.

    The rules of the class `family` look at exactly `width` attributes.
    """

    kind: ClassVar[str] = "indicators"
    family: str
    width: int

    def __post_init__(self) -> None:
        if self.family not in ARRANGED_FAMILIES:
            names = " or ".join(map(repr, ARRANGED_FAMILIES))
            raise InvalidValue(f"a class that single indicators tell of is {names}, not {self.family!r}", self.family)
        check_range(self.width, 1, MAX_CONCEPT_WIDTH, "width of the rules")


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


@dataclass(frozen=True, kw_only=True)
class ConceptQueries:
    """The expected loss of every rule of a class over the attributes before the last, which is the label.

    All attributes have two members. Rules go by the number of their attributes, 0 for the rules never and always, then
    lexicographically by these, then in the order of their class. `changes` limits decision lists. With `bias_allowed`
    answers may have a bias that the plan states.
    """

    kind: ClassVar[str] = "concepts"
    family: str
    width: int
    exactly: bool
    negations: bool
    changes: int | None
    positive: int
    miss: float
    false_alarm: float
    bias_allowed: bool

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            names = ", ".join(map(repr, FAMILIES))
            raise InvalidValue(f"a class of rules is one of {names}, not {self.family!r}", self.family)
        check_range(self.width, 1, MAX_CONCEPT_WIDTH, "width of the rules")
        check_range(self.positive, 0, 1, "number of the positive member")
        if self.changes is not None:
            check_range(self.changes, 0, MAX_CONCEPT_WIDTH, "number of changes of the label")
        set_finite_floats(self, "miss", "false_alarm")
        if min(self.miss, self.false_alarm) <= 0:
            raise InvalidValue("the costs of both mistakes are above 0", (self.miss, self.false_alarm))


@dataclass(frozen=True, kw_only=True)
class OrderedConceptQueries:
    """The expected loss of every threshold, interval or box of the attributes before the last, which is the label.

    The label has two members. First come the rules never and always, then boxes: the side of the last attribute moves
    first, each side goes by its first bin, then by its last. `positive` is the member of the label that counts as yes.
    With `bias_allowed` answers may have a bias that the plan states.
    """

    kind: ClassVar[str] = "ordered_concepts"
    family: str
    positive: int
    miss: float
    false_alarm: float
    bias_allowed: bool

    def __post_init__(self) -> None:
        if self.family not in ORDERED_FAMILIES:
            names = ", ".join(map(repr, ORDERED_FAMILIES))
            raise InvalidValue(f"rules over ordered attributes are one of {names}, not {self.family!r}", self.family)
        check_range(self.positive, 0, 1, "number of the positive member")
        set_finite_floats(self, "miss", "false_alarm")
        if min(self.miss, self.false_alarm) <= 0:
            raise InvalidValue("the costs of both mistakes are above 0", (self.miss, self.false_alarm))


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


RuleQueries = ConceptQueries | OrderedConceptQueries
Queries = (
    ProductQueries
    | MatrixQueries
    | ParityQueries
    | MarginalQueries
    | StackQueries
    | RuleQueries
    | IndicatorQueries
    | NumberQueries
    | StringQueries
)
