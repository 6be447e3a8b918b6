"""What a band of some ranges and the simplex together say of each range: shortest paths between edges of types.

Bounds of F(j) − F(i) are the weights of arcs i → j, and F never falls, begins at 0 and ends at 1: all are bounds of
differences, and the shortest path from i to j is the sharpest bound that they imply (Bellman 1958).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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

    @classmethod
    def all_of(cls, size: int) -> RangesOfTypes:
        """Each range of `size` types but that of all, in rising order of starts."""
        starts, stops = np.triu_indices(size + 1, 1)
        varying = (starts > 0) | (stops < size)
        return cls(starts[varying], stops[varying], size)

    @property
    def _are_prefixes(self) -> bool:
        return not self.starts.any()

    @property
    def _edges(self) -> Indices:
        return np.unique(np.concatenate([self.starts, self.stops, [0, self.size]]))

    def bounds(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats] | None:
        """(Q,) each: the sharpest ends of these ranges; None where no histogram is within `lower` and `upper` (Q,)."""
        found = self.implied(lower, upper)
        return None if found is None else found.of(self.starts, self.stops)

    def implied(self, lower: Floats, upper: Floats) -> RangeBounds | None:
        """What `lower` and `upper` (Q,) say of any range; None where no histogram is within them."""
        edges = self._edges
        if self._are_prefixes:
            least, most = self._functions(lower, upper)
            return None if (least > most + _ROUNDING).any() else PrefixBounds(edges, least, most)
        paths = self._paths(lower, upper)
        return None if paths.diagonal().min() < -_ROUNDING else PathBounds(edges, paths)

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


@dataclass(frozen=True, eq=False)
class RangeBounds(ABC):
    """Bounds of F(j) − F(i) for any edges; one that is not among the `edges` (n,) is between its neighbours."""

    edges: Indices

    def of(self, starts: Indices, stops: Indices) -> tuple[Floats, Floats]:
        """(m,) each: the sharpest ends of the ranges from `starts` (m,) up to before `stops` (m,)."""
        below = [np.searchsorted(self.edges, each, side="right") - 1 for each in (starts, stops)]
        above = [np.searchsorted(self.edges, each) for each in (starts, stops)]
        # It holds the range between the edges inside it, and lies in the one between the edges around it.
        return np.maximum(self._least(above[0], below[1]), 0.0), self._most(below[0], above[1])

    @abstractmethod
    def _least(self, starts: Indices, stops: Indices) -> Floats:
        """(m,) lower bounds of ranges between places of edges."""

    @abstractmethod
    def _most(self, starts: Indices, stops: Indices) -> Floats:
        """(m,) upper bounds of the same."""


@dataclass(frozen=True, eq=False)
class PrefixBounds(RangeBounds):
    """From the `least` and the `most` F (n,) at each edge."""

    least: Floats
    most: Floats

    def _least(self, starts: Indices, stops: Indices) -> Floats:
        return np.asarray(self.least[stops] - self.most[starts])

    def _most(self, starts: Indices, stops: Indices) -> Floats:
        return np.asarray(self.most[stops] - self.least[starts])


@dataclass(frozen=True, eq=False)
class PathBounds(RangeBounds):
    """From the shortest `paths` (n, n) from each edge to each other one."""

    paths: Floats

    def _least(self, starts: Indices, stops: Indices) -> Floats:
        return np.asarray(-self.paths[stops, starts])

    def _most(self, starts: Indices, stops: Indices) -> Floats:
        return np.asarray(self.paths[starts, stops])
