"""Counts with their nouns and lengths of time, as messages say them."""

from __future__ import annotations

_VOWELS = "aeiou"
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def quantity(count: int, noun: str) -> str:
    """A count and its noun: 1 report, 0 queries, 2,000 days. The plural of `noun` is regular."""
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def duration(seconds: int) -> str:
    """A length of time in the largest unit of which it is a whole number: 30 days, 36 hours, 90 seconds."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return quantity(seconds // size, unit)


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in _VOWELS else f"{noun}s"
