"""The written form of a workload, in YAML or JSON, and how it becomes a Workload."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import PydanticCustomError

from sordino_analysis.arrays import Floats, varying_rows
from sordino_analysis.documents import queries as documents
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.documents.number_queries import MEASURES
from sordino_analysis.documents.queries import MAX_CONCEPT_WIDTH, IndicatorQueries
from sordino_analysis.questions.linear.attributes import AttributeSpecification, Number, Strict, domain_of, readable
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.concepts.rules import WIDEST
from sordino_analysis.questions.linear.concepts.specification import ConceptSpecification, published_concepts
from sordino_analysis.questions.linear.concepts.tested import Tested, indicators_of
from sordino_analysis.questions.linear.moments import MomentQueries, published_moments
from sordino_analysis.questions.linear.numbers.specification import (
    Weighted,
    WrittenMeasures,
    asks_numbers,
    published_numbers,
    weighted_measures,
)
from sordino_analysis.questions.linear.operators import DENSE_LIMIT
from sordino_analysis.questions.linear.widths import check_width
from sordino_analysis.questions.linear.workload import Workload, WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.domains import MAX_EVEN_EDGES, Domain
from sordino_shared.domains import Number as NumberAttribute
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

# The written form of a class of rules of which one known rule is answered, on average over databases.


class ArrangementSpecification(Strict):
    """Rules of exactly `width` indicators, or lists of `length`, without a label; reports tell single indicators."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    family: Literal["conjunctions", "clauses", "lists", "parities"] = Field(alias="class")
    width: Annotated[int, Field(strict=True, ge=1, le=MAX_CONCEPT_WIDTH)] | None = None
    length: Annotated[int, Field(strict=True, ge=1, le=WIDEST["lists"])] | None = None
    scheme: Literal["arrangement"]
    over: Listed[str | Tested] | None = None


def published_indicators(written: ArrangementSpecification, domain: Domain) -> tuple[Domain, IndicatorQueries]:
    """The domain of the indicators, and the mean sign of each; raises WorkloadError where they do not fit."""
    indicators, is_list = indicators_of(written.over, domain, None), written.family == "lists"
    width, other = (written.length, written.width) if is_list else (written.width, written.length)
    if width is None or other is not None:
        name = "length" if is_list else "width"
        raise WorkloadError(f"{written.family} have a `{name}`: say how many indicators a rule looks at", written)
    if width > len(indicators):
        raise WorkloadError(f"there are {len(indicators)} indicators, and rules look at {width}", width)
    return Domain(tuple(indicators)), IndicatorQueries(written.family, width)


Kind = Literal["histogram", "prefix", "ranges", "total"]
# Squares of the entries and their sums over a workload must stay within the range of a double.
_LARGEST, _SMALLEST = 1e100, 1e-100
# Of all kinds of queries and weights; more are a mistake.
_MOST_PARTS = 256
# Of more bins the queries are not written out.
_MOST_LISTED_BINS = 1024
# One decoder serves all queries: what a double rounds off in the largest must leave seven digits of the smallest.
_MOST_TIMES_AS_LARGE = 1e9


def _one_wrong_kind(value: Any) -> Any:
    """An object of a million wrong kinds is one error, the first."""
    known = get_args(Kind)
    wrong = next(((n, k) for n, k in value.items() if k not in known), None) if isinstance(value, Mapping) else None
    if wrong is None:
        return value
    raise PydanticCustomError(
        "kind",
        "give {name} one of {known}, or of numbers one of {measures}",
        {"name": repr(str(wrong[0])[:40]), "known": ", ".join(known), "measures": ", ".join(MEASURES)},
    )


Factors = Annotated[dict[str, Kind], BeforeValidator(_one_wrong_kind)]


class MatrixQueries(Strict):
    """Explicit rows, one entry for each cell of the domain in C order, with optional names."""

    matrix: Listed[Listed[Number]]
    labels: Listed[str] | None = None


class WidthQueries(Strict):
    """All parities, or all marginals, of up to `width` attributes, or of exactly as many."""

    kind: Literal["parities", "marginals"]
    width: int = Field(strict=True)
    exactly: bool = False


class StackedQueries(Strict):
    """One part of a stack; the variances of its queries count `weight` times in the objective."""

    queries: "OneQueries"
    weight: Annotated[Number, Field(gt=0)] = 1.0


class StackQueries(Strict):
    """Several kinds of queries of one domain, answered from the same reports."""

    stack: Listed[StackedQueries] = Field(min_length=1)


def form_of_queries(value: Any) -> str:
    """Which of the forms of `queries` a value has, written or read; that of a class of rules is "class"."""
    if value == "strings":
        return "strings"
    if isinstance(value, str):
        return "kind"
    models = (
        ("matrix", MatrixQueries),
        ("width", WidthQueries),
        ("moments", MomentQueries),
        ("stack", StackQueries),
        ("scheme", ArrangementSpecification),
        ("class", ConceptSpecification),
    )
    for form, model in models:
        if isinstance(value, model):
            return form
    written = value if isinstance(value, Mapping) else {}
    # As with a width, an attribute may be called "class"; but then every field is a word, and a label is an object.
    if written.get("scheme") is not None and isinstance(written.get("class"), str) and _is_class(written):
        return "scheme"
    if isinstance(written.get("label"), Mapping) or (isinstance(written.get("class"), str) and _is_class(written)):
        return "class"
    listed = next((form for form in ("matrix", "stack") if isinstance(written.get(form), list)), None)
    if written.get("kind") == "strings":
        return "strings"
    if written.get("kind") == "second_moments":
        return "moments"
    # An attribute may be called "width"; but its queries are a word.
    if listed or isinstance(written.get("width"), (int, float)):
        return listed or "width"
    return "numbers" if asks_numbers(written) else "factors"


def _is_class(written: Mapping[str, Any]) -> bool:
    """Whether what has the field `class` is meant as a class of rules, not as a kind for each attribute."""
    return not all(kind in get_args(Kind) for kind in written.values())


OneQueries = Annotated[
    Annotated[Kind, Tag("kind")]
    | Annotated[Factors, Tag("factors")]
    | Annotated[MatrixQueries, Tag("matrix")]
    | Annotated[WidthQueries, Tag("width")]
    | Annotated[MomentQueries, Tag("moments")]
    | Annotated[WrittenMeasures, Tag("numbers")],
    Discriminator(form_of_queries),
]
Queries = Annotated[
    Annotated[Kind, Tag("kind")]
    | Annotated[Factors, Tag("factors")]
    | Annotated[MatrixQueries, Tag("matrix")]
    | Annotated[WidthQueries, Tag("width")]
    | Annotated[MomentQueries, Tag("moments")]
    | Annotated[WrittenMeasures, Tag("numbers")]
    | Annotated[StackQueries, Tag("stack")]
    | Annotated[ConceptSpecification, Tag("class")]
    | Annotated[ArrangementSpecification, Tag("scheme")],
    Discriminator(form_of_queries),
]


class WorkloadSpecification(Strict):
    """A name, a domain and the queries: one kind for all attributes, a kind for each, a matrix, a width or a stack."""

    name: str = Field(min_length=1, max_length=200)
    domain: Listed[AttributeSpecification]
    queries: Queries

    def canonical(self) -> dict[str, Any]:
        """The JSON-able form that is stored with a plan and read back by `parse_specification`."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)

    def build(self) -> Workload:
        """The workload described; raises WorkloadError where the description contradicts itself."""
        domain = domain_of(self.domain)
        if isinstance(self.queries, ArrangementSpecification):
            return build_workload(*published_indicators(self.queries, domain), self.name)
        if isinstance(self.queries, ConceptSpecification):
            rules = build_workload(*published_concepts(self.queries, domain), self.name)
            if self.rounds is not None:
                self.rounds.check_rules(rules.queries)
            return rules
        return build_workload(*_published(self.queries, domain), self.name)

    @property
    def rounds(self) -> RoundShares | None:
        """The three rounds asked for, about a class of rules; None for one round. Raises InvalidValue."""
        return self.queries.rounds if isinstance(self.queries, ConceptSpecification) else None

    @property
    def asks_concepts(self) -> bool:
        """Whether the queries are the losses of a class of rules."""
        return isinstance(self.queries, ConceptSpecification)

    def sizes(self) -> tuple[int | None, int]:
        """Cells and queries of the workload, which is built for it; raises WorkloadError where it cannot be."""
        built = self.build()
        return built.held_domain.size, built.queries


def _refuse_numbers(domain: Domain) -> None:
    """Numbers are told apart in 2³² steps, of which no list, distribution or rule is asked."""
    for attribute in domain.attributes:
        if isinstance(attribute, NumberAttribute):
            raise WorkloadError(
                f"{attribute.name!r} is of kind number, which is asked for its mean and the like "
                f"(queries: {{{attribute.name}: mean}}): for shares of bins make it ordinal with edges",
                attribute,
            )


def _published(
    written: str | dict[str, Kind] | WrittenMeasures | MatrixQueries | WidthQueries | MomentQueries | StackQueries,
    domain: Domain,
) -> tuple[Domain, documents.Queries]:
    """The domain that devices hold and the queries as a plan publishes them."""
    measures = _measures(written)
    if measures is not None:
        return published_numbers(measures, domain)
    _refuse_numbers(domain)
    if isinstance(written, StackQueries):
        if len(written.stack) > _MOST_PARTS:
            raise WorkloadError(
                f"a stack has at most {_MOST_PARTS} parts, not {len(written.stack):,}: each takes precision from the "
                "others, so ask for fewer kinds, or rows of one matrix",
                len(written.stack),
            )
        parts = ((_published_one(part.queries, domain), part.weight) for part in written.stack)
        return domain, documents.StackQueries(tuple(documents.StackedQueries(*part) for part in parts))
    return domain, _published_one(written, domain)


def _measures(written: Any) -> Weighted | None:
    """The measures that are asked, of a stack with the weight of each part; None where none are.

    Raises WorkloadError for a stack of measures and others.
    """
    if not isinstance(written, StackQueries):
        return weighted_measures([(written, 1.0)]) if asks_numbers(written) else None
    parts = [(part.queries, part.weight) for part in written.stack if asks_numbers(part.queries)]
    if parts and len(parts) < len(written.stack):
        raise WorkloadError(
            "a stack with measures of numbers has no other parts: write `top` for a histogram, and `quantile` for "
            "prefix sums",
            written,
        )
    return weighted_measures(parts) if parts else None


def _published_one(
    written: str | Mapping[str, Any] | MatrixQueries | WidthQueries | MomentQueries, domain: Domain
) -> documents.ProductQueries | documents.MatrixQueries | documents.ParityQueries | documents.MarginalQueries:
    if isinstance(written, MatrixQueries):
        return _published_matrix(written, domain)
    if isinstance(written, MomentQueries):
        return published_moments(domain)
    if isinstance(written, WidthQueries):
        check_width(domain, written.width)
        of_width = documents.ParityQueries if written.kind == "parities" else documents.MarginalQueries
        return of_width(written.width, written.exactly)
    return documents.ProductQueries(_kinds(written, domain))


def _kinds(queries: str | Mapping[str, Any], domain: Domain) -> tuple[str, ...]:
    names = [attribute.name for attribute in domain.attributes]
    if isinstance(queries, str):
        return (queries,) * len(names)
    if set(queries) != set(names):
        raise WorkloadError(
            f"queries must give a kind to each of the attributes {names}, and were given for {list(queries)}; "
            "use `total` for one that is not asked about",
            queries,
        )
    return tuple(queries[name] for name in names)


def _published_matrix(queries: MatrixQueries, domain: Domain) -> documents.MatrixQueries:
    matrix = checked_matrix(queries.matrix, domain)
    _check_alike(matrix)
    labels = queries.labels
    if labels is not None and len(labels) != len(matrix):
        raise WorkloadError(
            f"{quantity(len(labels), 'label')} for {quantity(len(matrix), 'query')}: give one label a query", labels
        )
    names = tuple(f"query {row + 1}" for row in range(len(matrix))) if labels is None else tuple(labels)
    try:
        return documents.MatrixQueries(array_of(matrix, "<f8"), names)
    except InvalidValue as error:
        raise WorkloadError(str(error), labels) from error


def parse_specification(document: Mapping[str, Any]) -> WorkloadSpecification:
    """Read the dictionary form strictly; raises WorkloadError with the place of everything that does not fit."""
    queries = document.get("queries") if isinstance(document, Mapping) else None
    if isinstance(document, Mapping) and "statistic" in document:
        raise WorkloadError("linear queries are asked for here, and this workload has a pairwise statistic", document)
    if isinstance(queries, Mapping) and "file" in queries and "matrix" not in queries:
        raise WorkloadError("queries.file needs a specification on disk: put the matrix here", queries)
    try:
        return WorkloadSpecification.model_validate(document)
    except ValidationError as error:
        raise WorkloadError(readable(error), document) from error


def builtin(kind: str, size: int) -> Workload:
    """Queries of `kind` on one ordinal attribute of `size` unit bins."""
    return builtin_specification(kind, size).build()


def builtin_specification(kind: str, size: int) -> WorkloadSpecification:
    """The written form of queries of `kind` on one ordinal attribute of `size` unit bins.

    Raises WorkloadError for fewer than two bins, or too many.
    """
    if not isinstance(size, int) or size < 2:
        raise WorkloadError(f"a workload needs a domain of at least two types, not {size!r}", size)
    if size > MAX_EVEN_EDGES:
        raise WorkloadError(f"{size} bins; an attribute has at most {MAX_EVEN_EDGES + 1}: use wider bins", size)
    line = {"name": "value", "kind": "ordinal", "edges": unit_edges(size)}
    return parse_specification({"name": f"{kind}-{size}", "domain": [line], "queries": kind})


def unit_edges(bins: int) -> Any:
    """The edges 1, 2, … between so many bins, in a list while that is short."""
    if bins > _MOST_LISTED_BINS:
        return {"start": 1.0, "step": 1.0, "count": int(bins) - 1}
    return [float(edge) for edge in range(1, int(bins))]


def checked_matrix(rows: list[list[float]], domain: Domain) -> Floats:
    """(rows, k): one entry for each cell of the domain, of a size that squares can be summed; raises WorkloadError."""
    if not rows or not rows[0]:
        raise WorkloadError("the matrix is empty: give at least one row with an entry for each cell", rows)
    widths = {len(row) for row in rows}
    if widths != {domain.size}:
        raise WorkloadError(
            f"every row needs one entry for each of the {domain.size} cells of the domain; "
            f"rows of {', '.join(map(str, sorted(widths)))} entries were given",
            rows,
        )
    if len(rows) * domain.size > DENSE_LIMIT:
        raise WorkloadError(f"the matrix has more than {DENSE_LIMIT} entries: use a built-in kind", len(rows))
    matrix = np.array(rows, dtype=float)
    check_scale(matrix)
    return matrix


def _check_alike(matrix: Floats) -> None:
    """Raise WorkloadError if a query varies so little that its answer would be lost in the rounding of another."""
    rows = np.flatnonzero(varying_rows(matrix))
    if len(rows) == 0:
        return
    spreads = np.ptp(matrix[rows], axis=1)
    least, most = int(spreads.argmin()), int(spreads.argmax())
    if spreads[most] > _MOST_TIMES_AS_LARGE * spreads[least]:
        raise WorkloadError(
            f"over the cells query {rows[least] + 1} varies by {spreads[least]:g} and query {rows[most] + 1} by "
            f"{spreads[most]:g}, more than {_MOST_TIMES_AS_LARGE:g} times as much: scale them alike, or make constant "
            "what varies by rounding errors only",
            spreads,
        )


def check_scale(matrix: Floats) -> None:
    """Raise WorkloadError where squares of the entries and their sums would leave the range of a double.

    `matrix` (Q, k).
    """
    largest = np.abs(matrix).max()
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        raise WorkloadError(
            f"the largest entry is {largest:g}: scale the queries to between {_SMALLEST:g} and {_LARGEST:g}", largest
        )
