"""What users add to an error as a sample of a population: variances of the answers of single users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False)
class SampledAnswers:
    """Mean (Q,) and mean square (Q,) of the true answers of single users, between `low` (Q,) and `high` (Q,)."""

    means: Floats
    squares: Floats
    low: Floats
    high: Floats

    @property
    def variances(self) -> Floats:
        """(Q,) Var of W_q,X for a user X: what one user adds as a sample of the population."""
        return np.maximum(self.squares - self.means**2, 0.0)

    def smoothed(self, users: int, z: float) -> Floats:
        """(Q,) variances with z²/2 more users at either end of every query, as Agresti and Coull add to a share.

        A mixture with weight w on the ends has (1−w)·V + w·V' + w(1−w)·(m − m')² for its parts' variances and means.
        """
        weight = z**2 / (users + z**2)
        apart = self.means - (self.low + self.high) / 2
        between = weight * ((self.high - self.low) / 2) ** 2 + weight * (1 - weight) * apart**2
        return np.asarray((1 - weight) * self.variances + between)

    def curvature(self, *, zero_one: bool) -> Floats:
        """(Q,) c in [0, 1] of S = c·(q − low)(high − q) at the answers: 1 for rows of zeros and ones."""
        most = np.maximum((self.means - self.low) * (self.high - self.means), 0.0)
        found = np.divide(self.variances, most, out=np.ones_like(most), where=most > 0)
        return np.where(zero_one, 1.0, np.minimum(found, 1.0))
