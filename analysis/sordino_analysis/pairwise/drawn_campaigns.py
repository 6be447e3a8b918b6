"""How often an interval would hold, over campaigns drawn from the reports' own laws.

Where errors are made of a report or two, they have few values, and no law of a continuous error says how often an
interval holds: one lie more or less decides. Then campaigns of as many users with the plausible histogram tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.quadratic_error import QuadraticError

# The standard error of a coverage near 95 % is .34 %.
_DRAWN, _SEED = 4000, 20_261_122
# More chances of an output with a type than this take more than a tenth of a second.
_MOST_CHANCES = 512


@dataclass(frozen=True, eq=False)
class DrawnCampaigns:
    """Campaigns of one round, whose form is `matrix` (k, k), that are like those of the `reports`."""

    matrix: Floats
    reports: DecodedReports

    def coverage(self, error: QuadraticError, level: float) -> float | None:
        """The share of campaigns whose error is within its quantiles at this level; None where drawing takes long."""
        if self.reports.law.kernel.size > _MOST_CHANCES:
            return None
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = error.quantiles(np.zeros(1), tails)
        errors = self._errors()
        return float(((errors >= low) & (errors <= high)).mean())

    def _errors(self) -> Floats:
        """(_DRAWN,) 2lᵀZ + ZᵀWZ − E ZᵀWZ at l = Wĥ, over users who are drawn too."""
        generator, law, users = np.random.default_rng(_SEED), self.reports.law, self.reports.users
        chances = law.kernel / law.kernel.sum(axis=0)
        held = generator.multinomial(users, self.reports.plausible, size=_DRAWN)
        deviations = -held.astype(float)
        for cell in range(law.size):
            deviations += generator.multinomial(held[:, cell], chances[:, cell]) @ law.decoder.T
        deviations /= users
        quadratic = np.einsum("ri,ri->r", deviations @ self.matrix, deviations)
        linear = 2.0 * deviations @ (self.matrix @ self.reports.histogram)
        return np.asarray(linear + quadratic - quadratic.mean())
