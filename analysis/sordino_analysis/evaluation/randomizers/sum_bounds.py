"""What sums of so many reports can be, for sums that somebody else added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

Integers = NDArray[np.int64]
# Entries that are held at once: 8 MiB.
_AT_ONCE = 1 << 20
# A sum above its bound by this share is rounding.
_ROUNDING = 1e-9


def check_length(sums: Integers, length: int) -> None:
    """Raise InvalidValue unless there are `length` sums; `sums` (p,)."""
    if sums.shape != (length,):
        raise InvalidValue(f"reports of this plan have {length} sums, not {sums.size}", sums.shape)


def check_between(sums: Integers, low: int, high: int, count: int) -> None:
    """Raise InvalidValue unless low ≤ each of the `sums` (m,) ≤ high, as for `count` reports."""
    if sums.size and not low <= int(sums.min()) <= int(sums.max()) <= high:
        raise InvalidValue(
            f"sums of {quantity(count, 'report')} go from {low} to {high}; these go from {sums.min()} to {sums.max()}",
            count,
        )


def check_absolute_sum(sums: Integers, most: int, count: int) -> None:
    """Raise InvalidValue unless the absolute `sums` (m,) of `count` reports add up to at most `most`."""
    parts = range(0, len(sums), _AT_ONCE)
    found = float(sum(np.abs(sums[start : start + _AT_ONCE].astype(np.float64)).sum() for start in parts))
    if found > most * (1 + _ROUNDING):
        raise InvalidValue(
            f"the absolute sums of {quantity(count, 'report')} add up to at most {most:.6g}, these to {found:.6g}",
            count,
        )


def check_counts(sums: Integers, count: int) -> None:
    """Raise InvalidValue unless the `sums` (m,) say how often each of m outputs came, `count` times in all."""
    check_between(sums, 0, count, count)
    # In Python's integers: the sum of many may not fit a word.
    if (total := sum(sums.tolist())) != count:
        raise InvalidValue(f"the counts of {quantity(count, 'report')} sum to {count}, not to {total}", total)


def whole_number(total: int, unit: int, what: str) -> int:
    """How many units are in the `total`; raises InvalidValue for a broken or a negative number."""
    number, left = divmod(total, unit)
    if left or number < 0:
        raise InvalidValue(f"{what} is no whole number of reports: {total} is not a multiple of {unit}", total)
    return number


def check_reports(parts: int, count: int) -> None:
    """Raise InvalidValue unless the reports that the sums hold, `parts`, are as many as the stated `count`."""
    if parts != count:
        raise InvalidValue(f"the sums are of {quantity(parts, 'report')}, not of {count} as stated", parts)
