"""What a band of some ranges and the simplex together say of each range: shortest paths between edges of types.

Bounds of F(j) − F(i) are the weights of arcs i → j, and F never falls, begins at 0 and ends at 1: all are bounds of
differences, and the shortest path from i to j is the sharpest bound that they imply (Bellman 1958).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import intervals_of
from sordino_analysis.questions.linear.operators import DENSE_LIMIT, Indices, Intervals, LinearMap

# Edges between which paths are found in a third of a second.
_MOST_EDGES = 514
# What rounding takes from a circle of weights that is 0.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RangesOfTypes:
    """Q ranges of types from `starts` (Q,) up to before `stops` (Q,), out of `size` ordered types."""

    starts: Indices
    stops: Indices
    size: int

    @classmethod
    def of(cls, operator: LinearMap) -> RangesOfTypes | None:
        """Those that the rows of an operator are; None where they are none, or too many to find paths between."""
        if isinstance(operator, Intervals):
            found = cls(operator.starts, operator.stops, operator.shape[1])
        elif intervals_of(operator) is None or operator.shape[0] * operator.shape[1] > DENSE_LIMIT:
            return None
        else:
            rows = operator.dense()
            starts = np.argmax(rows > 0, axis=1)
            found = cls(starts, starts + (rows > 0).sum(axis=1), operator.shape[1])
        return found if found._are_prefixes or len(found._edges) <= _MOST_EDGES else None

    @property
    def _are_prefixes(self) -> bool:
        return not self.starts.any()

    @property
    def _edges(self) -> Indices:
        return np.unique(np.concatenate([self.starts, self.stops, [0, self.size]]))

    def bounds(self, lower: Floats, upper: Floats, asked: RangesOfTypes | None = None) -> tuple[Floats, Floats] | None:
        """(m,) each: the sharpest ends of the `asked` ranges, or of these, where `lower` and `upper` (Q,) hold.

        An edge that none of these ranges has is between its neighbours. None where no histogram is within the ends.
        """
        asked, edges = asked or self, self._edges
        starts, stops = (
            (np.searchsorted(edges, each, side="right") - 1, np.searchsorted(edges, each))
            for each in (asked.starts, asked.stops)
        )
        if self._are_prefixes:
            least, most = self._functions(lower, upper)
            if (least > most + _ROUNDING).any():
                return None
            return np.maximum(least[stops[0]] - most[starts[1]], 0.0), most[stops[1]] - least[starts[0]]
        paths = self._paths(lower, upper)
        if paths.diagonal().min() < -_ROUNDING:
            return None
        return np.maximum(-paths[stops[0], starts[1]], 0.0), paths[starts[0], stops[1]]

    def _paths(self, lower: Floats, upper: Floats) -> Floats:
        """(n, n) the shortest path from each edge to each other one."""
        edges = self._edges
        starts, stops = np.searchsorted(edges, self.starts), np.searchsorted(edges, self.stops)
        most = np.full((len(edges), len(edges)), np.inf)
        # F never falls, so that a bound of F(i) − F(j) for i before j is 0.
        most[np.tril_indices(len(edges))] = 0.0
        most[0, -1], most[-1, 0] = 1.0, -1.0
        np.minimum.at(most, (starts, stops), upper)
        np.minimum.at(most, (stops, starts), -lower)
        for middle in range(len(edges)):
            np.minimum(most, most[:, middle, None] + most[middle], out=most)
        return most

    def _functions(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """(n,) each: of prefixes the largest lower end up to each edge, and the least upper end from it on."""
        edges = self._edges
        places = np.searchsorted(edges, self.stops)
        least, most = np.zeros(len(edges)), np.ones(len(edges))
        least[-1], most[0] = 1.0, 0.0
        np.maximum.at(least, places, lower)
        np.minimum.at(most, places, upper)
        return np.maximum.accumulate(least), np.minimum.accumulate(most[::-1])[::-1]
