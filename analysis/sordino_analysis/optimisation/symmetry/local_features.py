"""What the decoder of a block of queries can weigh: a constant and its orbits of characters, or these at each overlap.

The overlap is how many of a query's attributes a report holds. Where all types are as likely, one weight for all
overlaps is best; against the worst type it is not, since what an answer is worth depends on the likelier types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.symmetry.row_moments import LocalQuery
from sordino_analysis.questions.linear.characters import Integers, cas_table


@dataclass(frozen=True, eq=False)
class QueryParts:
    """A query's constant, as 1, and what of it each orbit is: f (1 + orbits, K) with the part Σ_r f_r cas_r."""

    query: LocalQuery
    frequencies: Floats

    @classmethod
    def of(cls, query: LocalQuery, orbits: Integers) -> QueryParts:
        """The parts of a query that needs these orbits. `orbits` (orbits,)."""
        numbers = np.append(-1, orbits)
        weights = np.where(query.orbits < 0, 1.0, query.weights)
        return cls(query, np.where(query.orbits == numbers[:, None], weights, 0.0))

    @cached_property
    def waves(self) -> Floats:
        """(1 + orbits, K) the parts at each local cell."""
        return self.frequencies @ cas_table(self.query.shape)

    def shares(self, means: Floats) -> Floats:
        """(…, 1 + orbits) how much of each part there is in (…, K) means."""
        return np.asarray(means @ self.waves.T / (self.waves**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """c features Σ_r f_r H_r of one query: f are `tables` (c, overlaps, K).

    Feature i is about part `parts[i]` of the query, 0 for the constant, at the overlap `levels[i]`, which is 0 where it
    is about all.
    """

    query: QueryParts
    tables: Floats
    parts: Integers
    levels: Integers

    def responses(self, means: Floats) -> Floats:
        """(n, 1 + orbits, c) the share of each part that a feature's means (n, c, K) over the reports are."""
        own = self.parts == np.arange(len(self.query.frequencies))[:, None]
        return np.asarray(np.swapaxes(self.query.shares(means), 1, 2) * own)


def local_features(query: QueryParts, *, by_overlap: bool) -> LocalFeatures:
    """The features of a query."""
    frequencies, shape = query.frequencies, query.query.shape
    overlaps = len(shape) + 1
    if not by_overlap:
        parts = np.arange(len(frequencies))
        return LocalFeatures(query, np.repeat(frequencies[:, None], overlaps, axis=1), parts, np.zeros_like(parts))
    involved = np.count_nonzero(np.indices(shape).reshape(len(shape), -1), axis=0)
    needed = [int(involved[part != 0].max()) for part in frequencies]
    pairs = np.array([(part, level) for part, least in enumerate(needed) for level in range(least, overlaps)])
    tables = np.zeros((len(pairs), overlaps, frequencies.shape[1]))
    tables[np.arange(len(pairs)), pairs[:, 1]] = frequencies[pairs[:, 0]]
    return LocalFeatures(query, tables, pairs[:, 0], pairs[:, 1])
