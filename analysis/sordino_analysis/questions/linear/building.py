"""From queries as a plan publishes them to the linear map over a domain: the one way in which a workload is built."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import assert_never

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.documents.queries import (
    ConceptQueries,
    IndicatorQueries,
    MarginalQueries,
    MatrixQueries,
    OrderedConceptQueries,
    ParityQueries,
    ProductQueries,
    Queries,
    StackQueries,
)
from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.questions.linear.concepts.losses import concepts
from sordino_analysis.questions.linear.concepts.ordered import ordered_concepts
from sordino_analysis.questions.linear.factors import Factor, factor, product_of
from sordino_analysis.questions.linear.items import MOST_LISTED_ITEMS, AnyItem
from sordino_analysis.questions.linear.numbers.building import rows_of_numbers
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.scopes import QueryScope, sides_of_row
from sordino_analysis.questions.linear.stacks import stack_of
from sordino_analysis.questions.linear.widths import marginals, parities
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue


def build_workload(domain: Domain, queries: Queries, name: str = "workload") -> Workload:
    """The workload of these queries over the domain; raises InvalidValue where they do not fit it."""
    whole = _whole(domain, queries)
    return Workload(
        name=name,
        domain=domain if whole.dithering is None else whole.dithering.types,
        published=queries,
        operator=whole.operator,
        name_query=whole.label,
        scope=whole.scope,
        dithering=whole.dithering,
    )


def _pickled(workload: Workload) -> tuple[Callable[..., Workload], tuple[Domain, Queries, str]]:
    """A workload travels as its queries: names of queries are functions, and operators are larger than both."""
    return build_workload, (workload.held_domain, workload.published, workload.name)


copyreg.pickle(Workload, _pickled)


def _whole(domain: Domain, queries: Queries) -> Factor:
    match queries:
        case ProductQueries():
            return _product(domain, queries)
        case MatrixQueries():
            return _matrix(domain, queries)
        case ParityQueries():
            return parities(domain, queries.width, exactly=queries.exactly)
        case IndicatorQueries():
            return parities(domain, 1, exactly=True)
        case MarginalQueries():
            return marginals(domain, queries.width, exactly=queries.exactly)
        case ConceptQueries():
            return concepts(domain, queries)
        case OrderedConceptQueries():
            return ordered_concepts(domain, queries)
        case StackQueries():
            parts = [_whole(domain, part.queries) for part in queries.parts]
            return stack_of(parts, [part.weight for part in queries.parts])
        case NumberQueries():
            return rows_of_numbers(domain, queries)
        case StringQueries():
            raise InvalidValue("the plan finds strings: it has no linear queries", queries)
        case _:
            assert_never(queries)


def _matrix(domain: Domain, queries: MatrixQueries) -> Factor:
    matrix = ndarray(queries.matrix)
    return Factor(
        Dense(matrix),
        queries.labels.__getitem__,
        lambda query: QueryScope(queries.kind, sides_of_row(domain, matrix[query])),
    )


def _product(domain: Domain, queries: ProductQueries) -> Factor:
    if len(queries.factors) != len(domain.attributes):
        raise InvalidValue(f"{len(queries.factors)} kinds of queries for {len(domain.attributes)} attributes", queries)
    if set(queries.factors) == {"histogram"} and domain.size > MOST_LISTED_ITEMS:
        names = ", ".join(attribute.name for attribute in domain.attributes)
        return Factor(AnyItem(domain.size), lambda query: f"any {names}", lambda query: QueryScope("histogram", None))
    return product_of([factor(a, kind) for a, kind in zip(domain.attributes, queries.factors, strict=True)])
