"""Of candidates that are as good as each other the simpler one is taken, whichever is looked at first."""

from __future__ import annotations

from typing import Any

from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.planning.comparison import _TIE, Contender

SIMPLER, OTHER = mechanism_names()[:2]


def contender(name: str, value: float) -> Contender:
    """One of which the variance alone is looked at."""
    unread: Any = None
    return Contender(name, unread, value)


def test_the_simpler_of_two_that_tie_is_taken() -> None:
    for value in (1.0, 1 + _TIE / 2, 1 - _TIE / 2):
        assert contender(SIMPLER, value).beats(contender(OTHER, 1.0))
        assert not contender(OTHER, value).beats(contender(SIMPLER, 1.0))


def test_a_smaller_variance_is_taken_and_anything_before_nothing() -> None:
    assert contender(OTHER, 1 - 2 * _TIE).beats(contender(SIMPLER, 1.0))
    assert not contender(SIMPLER, 1 + 2 * _TIE).beats(contender(OTHER, 1.0))
    assert contender(OTHER, 1.0).beats(None)
