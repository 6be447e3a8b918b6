"""What the reports of the held-out level say of some strings: unbiased shares, their errors, and intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from sordino_analysis.arrays import Floats
from sordino_analysis.strings.chances import StringChances

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldOutCounts:
    """(m,) how many of the held-out level's `reports` hold each of m strings.

    A report of random bits holds a string with chance q, as that of a device which does not have it: with a shuffler's
    m random reports among n + m, shares are (n + m)/n = `spread` times those of all reports.
    """

    counts: Integers
    reports: int
    spread: float = 1.0

    def shares(self, chances: StringChances) -> Floats:
        """(m,) unbiased shares of the devices."""
        return self._of_matches(chances, self.counts / self.reports)

    def standard_errors(self, chances: StringChances) -> Floats:
        """(m,) estimated errors of the shares."""
        held = self.counts / self.reports
        return np.asarray(self.spread * np.sqrt(held * (1 - held) / self.reports) / _gap(chances))

    def intervals(self, chances: StringChances, errors: Floats) -> Floats:
        """(m, 2) the share of each string but for an error (m,), within 0 and 1, by Clopper and Pearson."""
        ends = clopper_pearson(self.counts, self.reports, errors)
        return np.clip(self._of_matches(chances, ends), 0.0, 1.0)

    def _of_matches(self, chances: StringChances, matches: Floats) -> Floats:
        return np.asarray(self.spread * (matches - float(chances.other)) / _gap(chances))


def clopper_pearson(counts: Integers, reports: int, errors: Floats) -> Floats:
    """(m, 2) the interval of each event's chance with the `errors` (m,), half of each at either end."""
    low = betaincinv(np.maximum(counts, 1), reports - counts + 1, errors / 2)
    # By the complement: 1 less an error of 2^-64 is 1.
    high = betainccinv(counts + 1, np.maximum(reports - counts, 1), errors / 2)
    ends = np.stack([np.where(counts == 0, 0.0, low), np.where(counts == reports, 1.0, high)], axis=-1)
    return np.asarray(ends)


def _gap(chances: StringChances) -> float:
    return float(chances.own) - float(chances.other)
