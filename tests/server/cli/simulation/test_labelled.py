"""A class of rules found in a file: three rounds of it where they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_server.cli.simulation.labelled import labelled_rows


@pytest.mark.parametrize(("columns", "top"), [(1, 2), (4, 8), (12, 32)])
def test_three_rounds_ask_about_a_quarter_of_the_rules_at_most(tmp_path: Path, columns: int, top: int) -> None:
    names = [*(f"a{number}" for number in range(columns)), "crashed"]
    rows = (",".join("01"[number >> place & 1] for place in range(columns + 1)) for number in range(2 ** (columns + 1)))
    (tmp_path / "crashes.csv").write_text("\n".join([",".join(names), *rows]))
    asked = tmp_path / "crashes.csv", "crashed", None, []
    assert labelled_rows(*asked, 2)[0].rounds is None
    specification, values = labelled_rows(*asked, 2, certify=True)
    assert specification.rounds == RoundShares(top=top)
    assert top < specification.build().queries
    assert len(values) == 2 ** (columns + 1)
