"""What sums of so many reports can be, for sums that somebody else added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue

Integers = NDArray[np.int64]


def check_length(sums: Integers, length: int) -> None:
    """Raise InvalidValue unless there are `length` sums; `sums` (p,)."""
    if sums.shape != (length,):
        raise InvalidValue(f"reports of this plan have {length} sums, not {sums.size}", sums.shape)


def check_between(sums: Integers, low: int, high: int, count: int) -> None:
    """Raise InvalidValue unless low ≤ each of the `sums` (m,) ≤ high, as for `count` reports."""
    if sums.size and not low <= int(sums.min()) <= int(sums.max()) <= high:
        raise InvalidValue(
            f"{count} reports have sums from {low} to {high}; these go from {sums.min()} to {sums.max()}", count
        )


def check_counts(sums: Integers, count: int) -> None:
    """Raise InvalidValue unless the `sums` (m,) say how often each of m outputs came, `count` times in all."""
    check_between(sums, 0, count, count)
    # In Python's integers: the sum of many may not fit a word.
    if (total := sum(sums.tolist())) != count:
        raise InvalidValue(f"the counts of {count} reports sum to {count}, not to {total}", total)


def whole_number(total: int, unit: int, what: str) -> int:
    """How many units are in the `total`; raises InvalidValue for a broken or a negative number."""
    number, left = divmod(total, unit)
    if left or number < 0:
        raise InvalidValue(f"{what} is no whole number of reports: {total} is not a multiple of {unit}", total)
    return number


def check_reports(parts: int, count: int) -> None:
    """Raise InvalidValue unless the `parts` of the reports that sums speak of are the `count` that is stated."""
    if parts != count:
        raise InvalidValue(f"the sums are of {parts} reports, and {count} are stated", parts)
