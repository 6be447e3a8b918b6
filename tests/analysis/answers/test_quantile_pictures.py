"""Quantiles in a picture: each in the middle of its bin, those with an open end left out."""

from __future__ import annotations

import pytest

from sordino_analysis.answers.svg import NoPicture, draw_answers_of, is_drawable
from sordino_analysis.answers.table import AnswerTable


def quantile(label: str, low: float | None, high: float | None) -> dict[str, object]:
    ends = {
        f"{prefix}{end}": cell for prefix in ("value_", "", "band_") for end, cell in (("lower", low), ("upper", high))
    }
    return {"kind": "quantile", "label": label, "unit": "ms", "member": "a bin", **ends}


def table(*rows: dict[str, object]) -> AnswerTable:
    return AnswerTable.of_rows(rows, level=0.95, users=100)  # type: ignore[arg-type]


def test_quantiles_alone_have_a_picture() -> None:
    found = table(quantile("median", 1000.0, 2000.0), quantile("last", 9000.0, None))
    assert is_drawable(found)
    drawn = draw_answers_of(found, "load", "")
    assert "median" in drawn
    assert drawn.count('class="band"') == 1 + 1
    assert "last" not in drawn


def test_a_mean_is_drawn_beside_them() -> None:
    ends = {"lower": 1400.0, "upper": 1600.0, "band_lower": 1300.0, "band_upper": 1700.0}
    mean = {"kind": "mean", "label": "mean", "unit": "ms", "value": 1500.0, **ends}
    drawn = draw_answers_of(table(mean, quantile("median", 1000.0, 2000.0)), "load", "")
    assert drawn.count('class="band"') == 1 + 2


def test_open_ends_alone_have_none() -> None:
    found = table(quantile("last", 9000.0, None))
    assert not is_drawable(found)
    with pytest.raises(NoPicture, match="lists of answers with a band"):
        draw_answers_of(found, "load", "")
