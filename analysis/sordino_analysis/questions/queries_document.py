"""A workload as it stands in the analyst part of a plan, and the same workload again."""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino_analysis.documents.queries import (
    MarginalQueries,
    MatrixQueries,
    ParityQueries,
    ProductQueries,
    Queries,
    StackedQueries,
    StackQueries,
)
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear import specification as written
from sordino_analysis.questions.linear.factors import factor, product_of
from sordino_analysis.questions.linear.operators import Dense
from sordino_shared.arrays import Array
from sordino_shared.domains import Attribute, Domain, Ordinal
from sordino_shared.errors import InvalidValue

_OneQueries = ProductQueries | MatrixQueries | ParityQueries | MarginalQueries


def published_queries(workload: Workload) -> Queries:
    """The queries as a plan publishes them: kinds and widths, the rows of a matrix, or a stack of these."""
    if isinstance(workload.operator, Dense):
        return MatrixQueries(Array.of(workload.operator.matrix, "<f8"), tuple(workload.labels()))
    queries = parse_specification(workload.specification).queries
    if isinstance(queries, written.StackQueries):
        parts = (StackedQueries(_published(part.queries, workload.domain), part.weight) for part in queries.stack)
        return StackQueries(tuple(parts))
    return _published(queries, workload.domain)


def rebuild_workload(domain: Domain, queries: Queries, name: str = "workload") -> Workload:
    """The workload that `published_queries` wrote down; raises InvalidValue where it does not fit the domain."""
    described = {"name": name, "domain": [_described(attribute) for attribute in domain.attributes]}
    if isinstance(queries, MatrixQueries):
        matrix, labels = queries.matrix.numpy(), queries.labels
        specification = described | {"queries": _specified(queries, domain)}
        return Workload(name, domain, ("matrix",), Dense(matrix), specification, labels.__getitem__)
    if isinstance(queries, ProductQueries):
        kinds = _kinds(queries, domain)
        whole = product_of([factor(a, kinds[a.name]) for a in domain.attributes])
        specification = described | {"queries": kinds}
        return Workload(name, domain, queries.factors, whole.operator, specification, whole.label)
    if isinstance(queries, StackQueries):
        stack = [{"queries": _specified(part.queries, domain), "weight": part.weight} for part in queries.parts]
        return parse_specification(described | {"queries": {"stack": stack}}).build()
    return parse_specification(described | {"queries": _specified(queries, domain)}).build()


def _published(
    queries: str | dict[str, written.Kind] | written.MatrixQueries | written.WidthQueries, domain: Domain
) -> _OneQueries:
    if isinstance(queries, written.MatrixQueries):
        labels = queries.labels or [f"query {row + 1}" for row in range(len(queries.matrix))]
        return MatrixQueries(Array.of(np.array(queries.matrix), "<f8"), tuple(labels))
    if isinstance(queries, written.WidthQueries):
        of_width = ParityQueries if queries.kind == "parities" else MarginalQueries
        return of_width(queries.width, queries.exactly)
    names = [attribute.name for attribute in domain.attributes]
    return ProductQueries(tuple(queries if isinstance(queries, str) else queries[name] for name in names))


def _specified(queries: _OneQueries, domain: Domain) -> dict[str, Any]:
    if isinstance(queries, MatrixQueries):
        return {"matrix": queries.matrix.numpy().tolist(), "labels": list(queries.labels)}
    if isinstance(queries, ProductQueries):
        return _kinds(queries, domain)
    return {"kind": queries.kind, "width": queries.width, "exactly": queries.exactly}


def _kinds(queries: ProductQueries, domain: Domain) -> dict[str, Any]:
    if len(queries.factors) != len(domain.attributes):
        raise InvalidValue(f"{len(queries.factors)} kinds of queries for {len(domain.attributes)} attributes", queries)
    return dict(zip((a.name for a in domain.attributes), queries.factors, strict=True))


def _described(attribute: Attribute) -> dict[str, Any]:
    shared = {"name": attribute.name, "kind": attribute.kind, "missing": attribute.missing, "other": attribute.other}
    if isinstance(attribute, Ordinal):
        return shared | {"edges": list(attribute.edges), "unit": attribute.unit}
    return shared | {"labels": list(attribute.categories)}
