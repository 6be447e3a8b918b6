"""Which entries and extreme rows are alike, as permutations of the types take the queries to one another.

The best numbers of a concave bound may be taken the same on everything that is alike, which leaves few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices

# Of the largest entry: what two entries may differ by and still be the same.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RowOrbits:
    """The class of each entry, `entries` (Q, m), of each type, `types` (m,), and one row of each class, `rows` (n,).

    A row is a number whose bit x says that type x is at the upper level; that of all types is left out.
    """

    entries: Indices
    types: Indices
    rows: Indices


def row_orbits(matrix: Floats, weights: Floats, shape: Sequence[int]) -> RowOrbits:
    """The orbits of W (Q, m) and of other numbers of its entries (Q, m), over types of the sizes `shape` in C order.

    Tried are reflections, shifts and exchanges of neighbours in each attribute, and exchanges of attributes of one
    size; those that take rows of W to rows of W, up to constants, generate the group.
    """
    queries, types = matrix.shape
    entries, of_types, rows = (
        np.arange(queries * types).reshape(queries, types),
        np.arange(types),
        np.arange(2**types - 1),
    )
    pairs: list[tuple[Indices, Indices]] = []
    of_rows: list[Indices] = []
    permutations: list[Indices] = []
    for permutation in _candidates(shape):
        moved = _moved_queries(matrix, weights, permutation)
        if moved is not None:
            permutations.append(permutation)
            pairs.append((entries.ravel(), entries[moved][:, permutation].ravel()))
            # Bit x of a row becomes bit σ(x).
            of_rows.append(np.asarray(sum(((rows >> x) & 1) << int(permutation[x]) for x in range(types))))
    labels = _components(queries * types, pairs).reshape(queries, types)
    type_labels = _components(types, [(of_types, permutation) for permutation in permutations])
    row_labels = _components(len(rows), [(rows, there) for there in of_rows])
    return RowOrbits(labels, type_labels, np.unique(row_labels, return_index=True)[1])


def _components(count: int, pairs: list[tuple[Indices, Indices]]) -> Indices:
    if not pairs:
        return np.arange(count)
    here, there = (np.concatenate(part) for part in zip(*pairs, strict=True))
    graph = sparse.coo_array((np.ones(len(here), dtype=bool), (here, there)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _moved_queries(matrix: Floats, weights: Floats, permutation: Indices) -> Indices | None:
    """τ (Q,) with W_{τ(q)σ(x)} = W_qx + c_q for all q and x, and the same weights; None where there is none."""
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    both = np.hstack([centred, weights])
    scale = float(np.abs(both).max())
    probe = np.random.Generator(np.random.PCG64(0)).uniform(0.5, 1.0, size=(both.shape[1],))
    types = matrix.shape[1]
    moved = np.concatenate([permutation, types + permutation])
    # The key of q after the move is that of the row which has W_qx in column σ(x).
    after = np.rint(both @ probe[moved] / (_ROUNDING * scale))
    before = np.rint(both @ probe / (_ROUNDING * scale))
    there, back = np.argsort(after, kind="stable"), np.argsort(before, kind="stable")
    found = np.empty(len(matrix), dtype=np.intp)
    found[there] = back
    distance = np.asarray(np.abs(both[found][:, moved] - both)).max()
    return found if distance <= 10 * _ROUNDING * scale else None


def _candidates(shape: Sequence[int]) -> Iterator[Indices]:
    """Permutations σ (m,) of the types of a domain."""
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    for axis, size in enumerate(shape):
        members = np.arange(size)
        yield np.take(cells, members[::-1], axis).ravel()
        if size > 2:
            yield np.roll(cells, 1, axis).ravel()
        for first in range(size - 1) if size > 2 else ():
            exchanged = members.copy()
            exchanged[[first, first + 1]] = first + 1, first
            yield np.take(cells, exchanged, axis).ravel()
    yield cells.ravel()[::-1].copy()
    for one, other in combinations(range(len(shape)), 2):
        if shape[one] == shape[other]:
            yield np.swapaxes(cells, one, other).ravel()
