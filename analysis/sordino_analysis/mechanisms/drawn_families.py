"""Kernels that draw a family of sets, then one of its sets: the chances of the families are optimised for a workload.

Under query weights ρ and type weights π let F_f be the part of the averaged second moment that the reports of family f
cause. The second moment is convex in the chances p and at most Σ p_f F_f/p′_f at other chances p′, so p′ ∝ √(p_f F_f)
never does worse (Yu 2010: multiplicative updates of an A-optimal design). Types, and for "max" queries, are weighted
by their variances meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.evaluation.integer_kernels import histogram_decoder, integer_kernel
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.set_families import SetFamily
from sordino_analysis.mechanisms.tuning import DRAWN_FAMILIES
from sordino_analysis.optimisation.search.objectives import information
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear.characters import Integers


@dataclass(frozen=True, eq=False)
class _Point:
    """Chances of the families, weights of the types and of the queries."""

    chances: Floats
    types: Floats
    queries: Floats


def reason_against_table(work: SharedWork) -> str | None:
    """Why no table of sets of types is made, or None."""
    size = work.request.workload.size
    if size == 2:
        return "with two types it is randomized response"
    if size > DRAWN_FAMILIES.max_types:
        return f"{size} types; its table is made for at most {DRAWN_FAMILIES.max_types}"
    return work.solved_in_closed_form or work.too_large_for_dense


def reason_against_tree(work: SharedWork) -> str | None:
    """Why no tree is put over the types, or None."""
    several = sum(attribute.size > 1 for attribute in work.request.workload.domain.attributes)
    if several > 1:
        return f"the types of {several} attributes have no one order to put a tree over"
    return reason_against_table(work)


def drawn_kernel(families: Sequence[SetFamily], work: SharedWork, progress: ProgressCallback) -> Proposal:
    """The families at their best chances, and the least-squares decoder under the type weights found with them."""
    guarantee = work.request.guarantee
    chances, type_weights = _optimised(families, work, progress)
    low = [np.full(len(f.members), c * f.low(guarantee.epsilon)) for c, f in zip(chances, families, strict=True)]
    members = np.vstack([family.members for family in families])
    kernel = integer_kernel(*_distinct(members, np.concatenate(low), guarantee.epsilon), guarantee)
    return Proposal(kernel, histogram_decoder(kernel, type_weights))


def _distinct(members: Mask, low: Floats, epsilon: float) -> tuple[Floats, Mask]:
    """(m,) weights and (m, k) sets, equal ones summed.

    An empty set carries as little information as a full one and is replaced by it: at a large ε its upper level
    would be above one.
    """
    empty = np.count_nonzero(members, axis=1) == 0
    low = np.where(empty, low * np.exp(-epsilon), low)
    distinct, inverse = np.unique(members | empty[:, None], axis=0, return_inverse=True)
    summed: Floats = np.zeros(len(distinct))
    np.add.at(summed, inverse.ravel(), low)
    return summed, distinct


def _optimised(families: Sequence[SetFamily], work: SharedWork, progress: ProgressCallback) -> tuple[Floats, Floats]:
    tables = [family.kernel(work.request.guarantee.epsilon) for family in families]
    owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    stacked = np.vstack(tables)
    matrix, worst = _queries(work, len(stacked))
    passes = max(DRAWN_FAMILIES.fewest_passes, _affordable(len(stacked), matrix))
    shapes = (len(tables), stacked.shape[1], len(matrix))
    point = _Point(*(np.full(length, 1 / length) for length in shapes))
    best, least = point, np.inf
    for step in range(passes):
        value, moved = _moved(stacked, owner, matrix, point, worst=worst)
        best, least = (point, value) if value < least else (best, least)
        point = moved
        progress(Progress((step + 1) / passes))
        if work.deadline.passed():
            break
    return best.chances, best.types


def _queries(work: SharedWork, rows: int) -> tuple[Floats, bool]:
    """W and whether its worst query counts; for the mean, and where W is too large, R with RᵀR = WᵀW in its place."""
    matrix = work.matrix
    if work.request.options.objective == "max" and _affordable(rows, matrix) >= DRAWN_FAMILIES.fewest_passes:
        return matrix, True
    return np.asarray(np.linalg.qr(matrix, mode="r")) if len(matrix) > matrix.shape[1] else matrix, False


def _affordable(rows: int, matrix: Floats) -> int:
    """How many passes over kernel and queries have their time."""
    queries, size = matrix.shape
    return int(min(DRAWN_FAMILIES.most_passes, DRAWN_FAMILIES.operations // (4.0 * rows * size * (size + queries))))


def _moved(stacked: Floats, owner: Integers, matrix: Floats, point: _Point, *, worst: bool) -> tuple[float, _Point]:
    """The objective at a point, and the next point."""
    kernel = stacked * point.chances[owner][:, None]
    moved_information = information(kernel, point.types)
    # Centred: a constant added to a query changes no variance, but it would drown what the families differ in.
    centred = matrix - (matrix @ point.types)[:, None]
    squares = (centred @ moved_information.reconstruction()) ** 2
    variance = squares @ kernel - centred**2
    by_type = np.maximum(point.queries @ variance, 0.0)
    caused = np.bincount(owner, (point.queries @ squares) * moved_information.masses)
    chances = np.maximum(_normalised(np.sqrt(point.chances * caused)), DRAWN_FAMILIES.least_chance)
    queries = _normalised(point.queries * np.maximum(variance @ point.types, 0.0)) if worst else point.queries
    value = float(variance.max() if worst else by_type.max())
    return value, _Point(_normalised(chances), _normalised(point.types * by_type), queries)


def _normalised(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())
