"""Sums of many columns at once, as bit planes: plane j is an integer with one bit a column, bit j of its sum."""

from __future__ import annotations


class BitPlanes:
    """Sums of `columns` columns, all 0 at first."""

    def __init__(self, columns: int) -> None:
        self._everything = (1 << columns) - 1
        self._planes: list[int] = []

    def add(self, number: int, chosen: int) -> None:
        """Add `number` to the columns whose bits are set in `chosen`: a ripple of carries over the planes."""
        planes, place, carry = self._planes, 0, 0
        while number or carry:
            if place == len(planes):
                planes.append(0)
            plane = planes[place]
            added = chosen if number & 1 else 0
            half = plane ^ added
            planes[place], carry = half ^ carry, plane & added | half & carry
            number, place = number >> 1, place + 1

    def greatest(self) -> int:
        """The largest sum: the columns that may have it grow fewer from the top plane down."""
        left, found = self._everything, 0
        for plane in reversed(self._planes):
            some = left & plane
            found = 2 * found + bool(some)
            left = some or left
        return found

    def least(self) -> int:
        """The smallest sum."""
        left, found = self._everything, 0
        for plane in reversed(self._planes):
            some = left & ~plane
            found = 2 * found + (not some)
            left = some or left
        return found
