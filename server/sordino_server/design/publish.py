"""A workload as it stands in the analyst part of a plan, and the same workload again."""

from __future__ import annotations

from typing import Any

from sordino_server.design.workloads import Workload
from sordino_server.design.workloads.factors import factor, product_of
from sordino_server.design.workloads.operators import Dense
from sordino_shared.arrays import Array
from sordino_shared.domains import Attribute, Domain, Ordinal
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import MatrixQueries, ProductQueries, Queries


def published_queries(workload: Workload) -> Queries:
    """The queries as a plan publishes them: a kind for each attribute, or the rows of the matrix."""
    if isinstance(workload.operator, Dense):
        return MatrixQueries(Array.of(workload.operator.matrix, "<f8"), tuple(workload.labels()))
    return ProductQueries(workload.kinds)


def rebuild_workload(domain: Domain, queries: Queries, name: str = "workload") -> Workload:
    """The workload that `published_queries` wrote down; raises InvalidValue where it does not fit the domain."""
    described = {"name": name, "domain": [_described(attribute) for attribute in domain.attributes]}
    if isinstance(queries, MatrixQueries):
        matrix, labels = queries.matrix.numpy(), queries.labels
        specification = described | {"queries": {"matrix": matrix.tolist(), "labels": list(labels)}}
        return Workload(name, domain, ("matrix",), Dense(matrix), specification, labels.__getitem__)
    if len(queries.factors) != len(domain.attributes):
        raise InvalidValue(f"{len(queries.factors)} kinds of queries for {len(domain.attributes)} attributes", queries)
    kinds = dict(zip((a.name for a in domain.attributes), queries.factors, strict=True))
    whole = product_of([factor(a, kinds[a.name]) for a in domain.attributes])
    specification = described | {"queries": kinds}
    return Workload(name, domain, queries.factors, whole.operator, specification, whole.label)


def _described(attribute: Attribute) -> dict[str, Any]:
    shared = {"name": attribute.name, "kind": attribute.kind, "missing": attribute.missing, "other": attribute.other}
    if isinstance(attribute, Ordinal):
        return shared | {"edges": list(attribute.edges), "unit": attribute.unit}
    return shared | {"labels": list(attribute.categories)}
