"""Intervals of all answers that an error could lead to: its variance is taken at the answer, not at the estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False)
class VarianceCurve:
    """(Q,) one user's variance V(q) if the answer is q: a line between `low` and `high`, level beyond these ends.

    An estimate that lies too low or too high by chance takes too small or too large a variance with it, so that ± z of
    its standard errors miss a type that everybody holds in 14 % of campaigns at ε = 1 and 200 users. V takes back from
    the variance what goes with the answer's error: for rows of zeros and ones on sets, that is all of it.
    """

    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats

    @classmethod
    def through(cls, answers: Floats, variances: Floats, slopes: Floats, ends: tuple[Floats, Floats]) -> VarianceCurve:
        """The line through the `variances` at the `answers`, no steeper than leaves them 0 at either of the ends.

        All arrays (Q,).
        """
        low, high = ends
        with np.errstate(divide="ignore", invalid="ignore"):
            falling, rising = -variances / (high - answers), variances / (answers - low)
        slopes = np.where(answers < high, np.maximum(slopes, falling), slopes)
        slopes = np.where(answers > low, np.minimum(slopes, rising), slopes)
        at_low, at_high = (variances + slopes * (end - answers) for end in ends)
        return cls(low, high, np.maximum(at_low, 0.0), np.maximum(at_high, 0.0))

    def at(self, answers: Floats) -> Floats:
        """(Q,) V at answers (Q,) between the ends."""
        share = (answers - self.low) / np.maximum(self.high - self.low, np.finfo(float).tiny)
        return np.asarray(self.at_low + (self.at_high - self.at_low) * np.clip(share, 0.0, 1.0))

    def interval(
        self, estimates: Floats, z: Floats | float, users: int, sampling: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """(Q,) the ends of {q: |estimate − q| ≤ z·√((V(q) + S(q))/users)} (Wilson 1927 for shares without noise).

        S(q) = `sampling`·(q − low)(high − q) is the variance of the users as a sample of a population.
        """
        share = z**2 / users
        slope = (self.at_high - self.at_low) / np.maximum(self.high - self.low, np.finfo(float).tiny)
        start = self.at_low - slope * self.low - sampling * self.low * self.high
        # (1 + share·sampling) q² − 2·middle·q + estimate² − share·start ≤ 0.
        lead, middle = 1 + share * sampling, estimates + share * (slope + sampling * (self.low + self.high)) / 2
        root = np.sqrt(np.maximum(middle**2 - lead * (estimates**2 - share * start), 0.0))
        by_low, by_high = np.sqrt(share * self.at_low), np.sqrt(share * self.at_high)
        lower = np.where(estimates - by_high >= self.high, estimates - by_high, (middle - root) / lead)
        lower = np.where(estimates - by_low <= self.low, estimates - by_low, lower)
        upper = np.where(estimates + by_low <= self.low, estimates + by_low, (middle + root) / lead)
        upper = np.where(estimates + by_high >= self.high, estimates + by_high, upper)
        return lower, upper
