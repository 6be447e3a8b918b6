"""Messages say 1 report and 2 reports."""

from __future__ import annotations

import pytest

from sordino_shared.errors import OversizedDocument
from sordino_shared.quantities import quantity


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "report", "0 reports"),
        (1, "report", "1 report"),
        (2, "query", "2 queries"),
        (1, "query", "1 query"),
        (20_000, "day", "20,000 days"),
        (3, "active device", "3 active devices"),
    ],
)
def test_a_count_has_its_noun_in_its_number(count: int, noun: str, said: str) -> None:
    assert quantity(count, noun) == said


def test_an_error_says_one_byte() -> None:
    assert str(OversizedDocument(1, 0)) == "document has 1 byte, at most 0 are allowed"
