"""Counts with their nouns, as messages say them."""

from __future__ import annotations

_VOWELS = "aeiou"


def quantity(count: int, noun: str) -> str:
    """A count and its noun: 1 report, 0 queries, 2,000 days. The plural of `noun` is regular."""
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in _VOWELS else f"{noun}s"
