"""How often an interval would hold, over campaigns drawn from the reports' own laws.

Where errors are made of a report or two, they have few values, and no law of a continuous error says how often an
interval holds: one lie more or less decides. Then campaigns of as many users with the plausible histogram tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.answers import Answers
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.quadratic_error import QuadraticError

Integers = NDArray[np.int64]
# The standard error of a coverage near 95 % is .49 %.
_DRAWN, _SEED = 2000, 20_261_122
# More chances of an output with a type than this take more than a tenth of a second.
_MOST_CHANCES = 1024


@dataclass(frozen=True, eq=False)
class DrawnCampaigns(ABC):
    """Campaigns whose form is `matrix` (k, k), and whose users are like those of the `reports`."""

    matrix: Floats
    reports: DecodedReports

    def coverage(self, error: QuadraticError, level: float) -> float | None:
        """The share of campaigns whose error is within its quantiles at this level; None where drawing takes long."""
        if self.reports.law.kernel.size > _MOST_CHANCES:
            return None
        low, high = error.quantiles(np.zeros(1), ((1 - level) / 2, (1 + level) / 2))
        errors = self.errors(np.random.default_rng(_SEED))
        return float(((errors >= low) & (errors <= high)).mean())

    @abstractmethod
    def errors(self, generator: np.random.Generator) -> Floats:
        """(_DRAWN,) estimates less the values for the users."""

    def _first(self, counts: Integers, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """ĥ (r, k) and the mean over pairs (r,) of one round, for r campaigns with `counts` (r, k) of types."""
        law, users = self.reports.law, counts.sum(axis=1)
        own = (law.decoder * (self.matrix @ law.decoder)).sum(axis=0)
        sums = _sums(counts, law.kernel, np.vstack([law.decoder, own]), generator) / users[:, None]
        found = sums[:, :-1]
        return found, (users * _form(found, self.matrix) - sums[:, -1]) / (users - 1)

    def _of_users(self, counts: Integers) -> Floats:
        """(_DRAWN,) the mean over pairs of different users. `counts` (_DRAWN, k)."""
        users = counts.sum(axis=1)
        shares = counts / users[:, None]
        return np.asarray((users * _form(shares, self.matrix) - shares @ np.diag(self.matrix)) / (users - 1))


@dataclass(frozen=True, eq=False)
class DrawnRounds(DrawnCampaigns):
    """Campaigns of one round."""

    def errors(self, generator: np.random.Generator) -> Floats:
        counts = generator.multinomial(self.reports.users, self.reports.fitted, size=_DRAWN)
        return self._first(counts, generator)[1] - self._of_users(counts)


@dataclass(frozen=True, eq=False)
class DrawnSteps(DrawnCampaigns):
    """Campaigns of two rounds and a step λ = `step`; all their second rounds use the kernel of the `answers`."""

    answers: Answers
    step: float

    def errors(self, generator: np.random.Generator) -> Floats:
        first, second = self.reports.users, self.answers.users
        same, fitted = self.answers.same_users, self.reports.fitted
        counts = generator.multinomial(first if same else first + second, fitted, size=_DRAWN)
        of_first = counts if same else generator.binomial(counts, first / (first + second))
        of_second = generator.binomial(counts, second / first) if same else counts - of_first
        of_first, of_second = (
            np.where(each.sum(axis=1, keepdims=True) < 2, counts, each) for each in (of_first, of_second)
        )
        found, pairs = self._first(of_first, generator)
        shares = of_second / of_second.sum(axis=1, keepdims=True)
        answered = np.einsum("rk,rk->r", found @ self.matrix, shares) + self._noise(of_second, generator)
        if same:
            answered = (first * answered - found @ np.diag(self.matrix)) / (first - 1)
        return np.asarray(pairs + 2 * self.step * (answered - pairs) - self._of_users(counts))

    def _noise(self, counts: Integers, generator: np.random.Generator) -> Floats:
        """(_DRAWN,) what the second round's kernel adds to the mean answer of users with these types (_DRAWN, k)."""
        sent, means = self.answers.sent, self.answers.sent @ self.answers.chances
        sums = _sums(counts, self.answers.chances, sent[None, :], generator)[:, 0]
        return np.asarray((sums - counts @ means) / counts.sum(axis=1))


def _sums(counts: Integers, chances: Floats, scores: Floats, generator: np.random.Generator) -> Floats:
    """(r, c) sums over users with types `counts` (r, k): of their outputs' scores (c, m), of `chances` (m, k)."""
    total = np.zeros((len(counts), len(scores)))
    for cell in range(counts.shape[1]):
        # The outputs that are usual first: what is left for the others is soon nothing.
        order = np.argsort(-chances[:, cell])
        order = order[chances[order, cell] > 0]
        shares = chances[order, cell] / chances[order, cell].sum()
        total += generator.multinomial(counts[:, cell], shares) @ scores[:, order].T
    return total


def _form(shares: Floats, matrix: Floats) -> Floats:
    """hᵀWh for every row h of `shares` (r, k), for W = `matrix` (k, k): (r,)."""
    return np.asarray(np.einsum("rk,rk->r", shares @ matrix, shares))
