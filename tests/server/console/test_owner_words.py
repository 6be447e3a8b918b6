"""What owners read of chances: never that a report is sure."""

from __future__ import annotations

import pytest

from sordino_server.console.owner_words import _of_100
from sordino_server.console.privacy_words import true_of_100


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (0.731, "73"),
        (0.994, "99"),
        (0.996, "99.6"),
        (0.9997, "more than 99.9"),
        (0.0101, "1"),
        (0.004, "0.4"),
        (0.0003, "fewer than 0.1"),
    ],
)
def test_a_chance_is_neither_never_nor_always(chance: float, said: str) -> None:
    assert _of_100(chance) == said


def test_no_epsilon_is_sure() -> None:
    assert [true_of_100(epsilon) for epsilon in (1.0, 8.0, 40.0, 1000.0)] == [73, 99, 99, 99]
