"""The bound for some types, where nothing else is made: plans that were cut short, and workloads of very many types."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.certificate import SomeTypesBound
from sordino_analysis.optimisation.bounds.some_types import even_root, some_types_weights
from sordino_analysis.optimisation.bounds.trace import recheck
from sordino_analysis.planning.tuning import SOME_TYPES
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue

Codes = NDArray[np.int64]


def some_types_certificate(workload: Workload, epsilon: float, objective: Objective, most: int) -> SomeTypesBound:
    """For at most so many types, spread over all attributes, and two that the first query tells apart.

    Its value is above 0, since a query varies.
    """
    codes = chosen_types(workload, most)
    answers = _answers(workload, codes)
    value, queries, rows, columns = _best(workload, answers, epsilon, objective)
    return SomeTypesBound(
        value=value,
        types=array_of(codes, "<i8"),
        type_weights=array_of(columns, "<f8"),
        queries=None if queries is None else array_of(queries, "<i8"),
        query_weights=None if queries is None else array_of(rows, "<f8"),
    )


def recheck_some_types_certificate(
    bound: SomeTypesBound, workload: Workload, epsilon: float, objective: Objective
) -> float | None:
    """What the published numbers prove of the objective; None where they are about another one.

    Raises InvalidValue for numbers that are no certificate.
    """
    codes, columns = ndarray(bound.types).astype(np.int64), ndarray(bound.type_weights)
    sizes = np.array([attribute.size for attribute in workload.domain.attributes], dtype=object)
    if codes.shape[1] != len(sizes) or not (codes >= 0).all() or not (codes < sizes).all():
        raise InvalidValue("the types of a bound are cells of the domain", codes)
    if len(codes) > SOME_TYPES.most_types:
        raise InvalidValue(f"this bound is for at most {SOME_TYPES.most_types} types, not {len(codes)}", len(codes))
    if (bound.queries is None) != (bound.query_weights is None):
        raise InvalidValue("a bound has queries and their weights, or neither", bound.queries)
    answers = _answers(workload, codes)
    if bound.queries is None or bound.query_weights is None:
        root = even_root(answers, workload.shares_of_mean)
        return recheck(root, epsilon, np.full(len(root), 1 / len(root)), columns)
    if objective == "mean":
        return None
    queries, rows = ndarray(bound.queries).astype(np.int64), ndarray(bound.query_weights)
    if not 0 <= queries.min() <= queries.max() < workload.queries:
        raise InvalidValue(f"the queries of a bound are from 0 to {workload.queries - 1}", queries)
    return recheck(answers[queries], epsilon, rows, columns)


def chosen_types(workload: Workload, most: int) -> Codes:
    """(m, attributes) members of at most so many cells, each attribute's evenly spaced and in an order of its own.

    All cells, where there are no more. Some query differs between two of them where the cells of one can be listed.
    """
    sizes = [attribute.size for attribute in workload.domain.attributes]
    most = max(SOME_TYPES.least_types, min(most, SOME_TYPES.most_numbers // workload.queries))
    if math.prod(sizes) <= most:
        return np.indices(sizes).reshape(len(sizes), -1).T.astype(np.int64)
    generator, places = np.random.default_rng(0), np.arange(most - 2)
    columns = [places * size // len(places) if size >= len(places) else places % size for size in sizes]
    mixed = [columns[0], *(generator.permutation(column) for column in columns[1:])]
    return np.unique(np.vstack([*_apart(workload, sizes), np.stack(mixed, axis=1)]), axis=0).astype(np.int64)


def _apart(workload: Workload, sizes: list[int]) -> Iterator[Codes]:
    """Two cells between which the first query that varies differs most."""
    if workload.size <= SOME_TYPES.most_numbers:
        row = workload.operator.take(workload.varying_rows[:1])[0]
        for cell in (int(row.argmin()), int(row.argmax())):
            yield np.array([np.unravel_index(cell, sizes)], dtype=np.int64)
    else:
        yield np.zeros((1, len(sizes)), dtype=np.int64)
        yield np.array([[size - 1 for size in sizes]], dtype=np.int64)


def _answers(workload: Workload, codes: Codes) -> Floats:
    """(Q, m) diag(√w) W at the cells."""
    shape = tuple(attribute.size for attribute in workload.domain.attributes)
    each = [workload.operator.answers_of_codes(code[None].astype(np.uint64), shape) for code in codes]
    return np.asarray(np.sqrt(workload.query_weights)[:, None] * np.stack(each, axis=1))


def _best(
    workload: Workload, answers: Floats, epsilon: float, objective: Objective
) -> tuple[float, Indices | None, Floats, Floats]:
    """The value, queries with weight or None for all that vary, ρ and π."""
    root = even_root(answers, workload.shares_of_mean)
    even, columns_of_mean = some_types_weights(root, epsilon, "mean")
    mean = recheck(root, epsilon, even, columns_of_mean)
    if objective == "mean":
        return mean, None, even, columns_of_mean
    distinct = np.unique(answers - answers[:, :1], axis=0, return_index=True)[1]
    widest = np.argsort(-np.ptp(answers[distinct], axis=1), kind="stable")[: SOME_TYPES.most_queries]
    queries = np.sort(distinct[widest])
    rows, columns = some_types_weights(answers[queries], epsilon, "max")
    kept = rows > 0
    queries, rows = queries[kept], rows[kept] / rows[kept].sum()
    assert abs(rows.sum() - 1) <= SUM_TOLERANCE
    worst = recheck(answers[queries], epsilon, rows, columns)
    # The worst query is no better than the mean, which may weigh more queries.
    return (worst, queries, rows, columns) if worst >= mean else (mean, None, even, columns_of_mean)
