"""Several workloads over one domain, asked together, so that one report answers many questions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.factors import Factor
from sordino_analysis.questions.linear.items import MOST_LISTED_ITEMS, AnyItem
from sordino_analysis.questions.linear.operators import Indices, LinearMap
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.questions.linear.workload import WorkloadError

# Beyond it a part has no say in the design, and what double precision leaves of its queries is not enough.
_MOST_TIMES_AS_HEAVY = 1e9


class Stack(LinearMap):
    """The rows of several maps over one domain, one map after the other, those of part i with the weight w_i."""

    def __init__(self, parts: Sequence[LinearMap], weights: Sequence[float]) -> None:
        self.parts, self.weights = tuple(parts), tuple(weights)
        self.starts = np.cumsum([0, *(part.shape[0] for part in self.parts)])
        self.zero_one = all(part.zero_one for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.starts[-1]), self.parts[0].shape[1]

    @property
    def stacked(self) -> tuple[tuple[LinearMap, float], ...]:
        return tuple(zip(self.parts, self.weights, strict=True))

    def matvec(self, histogram: Floats) -> Floats:
        return np.concatenate([part.matvec(histogram) for part in self.parts])

    def squared_matvec(self, histogram: Floats) -> Floats:
        return np.concatenate([part.squared_matvec(histogram) for part in self.parts])

    def rmatvec(self, weights: Floats) -> Floats:
        pieces = np.split(weights, self.starts[1:-1])
        pulled = [part.rmatvec(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(pulled, axis=0))

    def varying(self) -> Indices:
        pairs = zip(self.parts, self.starts[:-1], strict=True)
        return np.concatenate([start + part.varying() for part, start in pairs])

    def query_weights(self) -> Floats:
        return np.repeat(np.array(self.weights), [part.shape[0] for part in self.parts])

    def take(self, rows: Indices) -> Floats:
        result = np.zeros((len(rows), self.shape[1]))
        home = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(home):
            result[home == number] = self.parts[number].take(rows[home == number] - self.starts[number])
        return result

    def column(self, cell: int) -> Floats:
        return np.concatenate([part.column(cell) for part in self.parts])


def stack_of(parts: Sequence[Factor], weights: Sequence[float]) -> Factor:
    """The queries of all parts in order; parities and marginals together keep their symmetry.

    Only ratios of the weights matter; raises WorkloadError where they are too far apart.
    """
    operators = [part.operator for part in parts]
    items = next((one.shape[1] for one in operators if isinstance(one, AnyItem)), None)
    if items is not None and len(parts) > 1:
        raise WorkloadError(
            f"a histogram of {items:,} items is not listed, and has no other queries beside it: use at most "
            f"{MOST_LISTED_ITEMS:,} wider bins, or ask for the histogram alone",
            items,
        )
    weights = _of_mean_one(weights, [_how_many_vary(operator) for operator in operators])
    starts = np.cumsum([0, *(operator.shape[0] for operator in operators)]).tolist()

    def place(query: int) -> tuple[Factor, int]:
        part = bisect_right(starts, query) - 1
        return parts[part], query - starts[part]

    def label(query: int) -> str:
        part, row = place(query)
        return part.label(row)

    def scope(query: int) -> QueryScope:
        part, row = place(query)
        return part.scope(row)

    maps = [operator for operator in operators if isinstance(operator, CharacterMap)]
    if len(maps) < len(operators):
        return Factor(Stack(operators, weights), label, scope)
    blocks = [
        replace(block, queries=block.queries + start, weight=weight)
        for whole, start, weight in zip(maps, starts[:-1], weights, strict=True)
        for block in whole.blocks
    ]
    return Factor(CharacterMap(maps[0].characters.shape, blocks), label, scope)


def _how_many_vary(operator: LinearMap) -> int:
    """The number of rows that are not constant, without a list of them where all are."""
    return operator.shape[0] if type(operator).varying is LinearMap.varying else len(operator.varying())


def _of_mean_one(weights: Sequence[float], counts: Sequence[int]) -> list[float]:
    """The weights of parts of so many queries that vary, scaled to a mean of 1 over all of these."""
    relative = np.array(weights) / max(weights)
    if relative.min() * _MOST_TIMES_AS_HEAVY < 1:
        raise WorkloadError(
            f"the weights of a stack's parts are from {min(weights):g} to {max(weights):g}, and the largest may be at "
            f"most {_MOST_TIMES_AS_HEAVY:g} times the least: leave out what hardly counts",
            weights,
        )
    total = float(relative @ np.array(counts))
    scaled = relative * (sum(counts) / total) if total > 0 else relative
    return [float(weight) for weight in scaled]
