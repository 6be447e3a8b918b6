"""The odds of docs/privacy-for-people.md are those of the integers."""

from __future__ import annotations

import re
from pathlib import Path

from sordino_shared.guarantees import PureEpsilon
from sordino_shared.odds import odds, share

PAGE = (Path(__file__).parents[2] / "docs" / "privacy-for-people.md").read_text(encoding="utf-8")


def test_every_row_of_the_table_is_exact() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| (\S+)-fold \| (\S+) % \|", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == ["0.5", "1", "2", "4", "8"]
    for epsilon, fold, percent in rows:
        nano = PureEpsilon.of(epsilon).nano
        assert (fold, percent) == (odds(nano), share(nano))


def test_the_odds_of_a_life_are_exact() -> None:
    assert f"{odds(PureEpsilon.of(12).nano)}-fold; that is why" in PAGE
