"""Which shares of strings differ between two periods of a series, from the held-out level of each.

The paths of the later period choose the strings. Reports of the held-out levels choose none of them, and those of the
earlier period come from other devices' noise, so an interval of either share holds as if the string had been fixed
before. Both hold for all strings at once but for the error that they have together, and then so do the differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.string_queries import PERIODS_AT_ONCE
from sordino_analysis.strings.certification import weights_of
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.search import FoundStrings, StringDomain, held_out_counts

Verdict = Literal["higher", "lower", "undecided"]


@dataclass(frozen=True, eq=False)
class StringChanges:
    """Of m strings the unbiased shares (m,) of the earlier period and the later one, and `interval` (m, 2) of the rest.

    `standard_errors` (m,) are of the differences.
    """

    before: Floats
    after: Floats
    interval: Floats
    standard_errors: Floats

    @property
    def value(self) -> Floats:
        """(m,) the later share less the earlier one."""
        return self.after - self.before

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """(m,) `higher` where the earlier interval lies below the later one."""
        return ["higher" if low > 0 else "lower" if high < 0 else "undecided" for low, high in self.interval.tolist()]


def changes_since(
    strings: StringDomain, found: FoundStrings, earlier: StringReports, error: float, spread: float = 1.0
) -> StringChanges:
    """Changes of the strings that the paths of a period chose or that are watched, since the reports of an earlier one.

    They are those of the candidates at `compared`.

    With probability 1 − `error` or more all changes lie in their intervals in PERIODS_AT_ONCE periods together: about
    the devices that reported, and about those that were active. `spread` is that of the earlier period.
    """
    at = compared(found)
    after = HeldOutCounts(found.counts.counts[at], found.counts.reports, found.counts.spread)
    before = held_out_counts(strings, earlier, [found.codes[each] for each in at], spread)
    # Two intervals of each string, with the weights of the paths alone and of what was watched before all reports: what
    # was known of it was read from `earlier`.
    errors = error / PERIODS_AT_ONCE / 2 * weights_of(found.paths.chances, found.watched[at])
    return change_between(strings, before, after, errors)


def compared(found: FoundStrings) -> Sequence[int]:
    """The places of the candidates that neither held-out level chose: leaves of paths first, then watched strings."""
    leaves = len(found.paths.codes)
    return [*range(leaves), *(leaves + np.flatnonzero(found.watched[leaves:])).tolist()]


def change_between(strings: StringDomain, before: HeldOutCounts, after: HeldOutCounts, errors: Floats) -> StringChanges:
    """Changes of m strings; each of the two intervals of a string has its error (m,)."""
    chances = strings.chances
    (low_before, high_before), (low, high) = (each.intervals(chances, errors).T for each in (before, after))
    return StringChanges(
        before.shares(chances),
        after.shares(chances),
        np.stack([low - high_before, high - low_before], axis=-1),
        np.hypot(before.standard_errors(chances), after.standard_errors(chances)),
    )
