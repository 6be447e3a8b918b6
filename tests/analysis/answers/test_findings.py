"""Sentences about a table claim only what its band holds, on thousands of random tables and in words."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.findings import findings
from sordino_analysis.answers.table import AnswerTable

TABLES = 10_000


def table(kind: str, values: list[float], reach: list[float], **terms: Cell) -> AnswerTable:
    """Shares of one attribute with a band of `reach` around each."""
    places = range(len(values))
    bands = [(max(0.0, value - each), min(1.0, value + each)) for value, each in zip(values, reach, strict=True)]
    columns: dict[str, list[Cell]] = {
        "kind": [kind] * len(values),
        "label": [f"v{place}" for place in places],
        "x_high": [float(place) for place in places],
        "unit": ["share"] * len(values),
        "value": [*values],
        "band_lower": [low for low, _ in bands],
        "band_upper": [high for _, high in bands],
    }
    return AnswerTable(terms, columns)


def test_a_largest_share_is_named_where_its_band_is_above_all_others() -> None:
    """With the truth anywhere in the band, the named share is the largest; and it is named when that is sure."""
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(TABLES):
        count = int(rng.integers(2, 9))
        values, reach = rng.dirichlet(np.ones(count)), rng.uniform(0.001, 0.2, count)
        (sentence,) = findings(table("histogram", values.tolist(), reach.tolist()))
        best = int(values.argmax())
        low, others = values[best] - reach[best], np.delete(values + reach, best)
        surely = bool((np.minimum(others, 1) < max(low, 0)).all())
        assert sentence.startswith(f"the largest share is v{best}: ") == surely
        named += surely
    assert 0.2 * TABLES < named < 0.8 * TABLES


def test_a_median_lies_beyond_the_steps_that_are_said() -> None:
    rng = np.random.default_rng(2)
    for _ in range(TABLES // 10):
        values = np.sort(rng.random(6))
        reach = np.full(6, rng.uniform(0.01, 0.4))
        (sentence,) = findings(table("prefix", values.tolist(), reach.tolist()))
        for place, value in enumerate(values):
            if f"less than half have v{place}:" in sentence:
                assert value + reach[0] < 0.5
            if f"more than half have v{place}:" in sentence:
                assert value - reach[0] > 0.5
        assert ("cannot be told" in sentence) == bool((np.abs(values - 0.5) <= reach).all())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (table("histogram", [0.6, 0.3, 0.1], [0.04] * 3), "the largest share is v0: 60 % (band 56 … 64 %)"),
        (
            table("histogram", [0.5, 0.48, 0.02], [0.02] * 3),
            "the largest share is one of 2, whose bands overlap: v0, v1",
        ),
        (table("histogram", [0.5, 0.5], [0.2] * 2), "which share is the largest cannot be told: all bands overlap"),
        (
            table("prefix", [0.2, 0.45, 0.8], [0.03] * 3),
            "less than half have v1: 45 % (band 42 … 48 %); more than half have v2: 80 % (band 77 … 83 %)",
        ),
    ],
    ids=["largest", "two", "none", "median"],
)
def test_sentences_are_in_words(given: AnswerTable, sentence: str) -> None:
    assert findings(given) == (sentence,)


def test_nothing_is_said_of_other_tables() -> None:
    good = table("histogram", [0.6, 0.4], [0.02] * 2)
    without_band = {name: cells for name, cells in good.columns.items() if name != "band_lower"}
    assert findings(AnswerTable({}, without_band)) == ()
    assert findings(table("marginal", [0.6, 0.4], [0.02] * 2)) == ()
    assert findings(table("histogram", [0.6, 0.4], [0.02] * 2, unlisted=3)) == ()
    assert findings(AnswerTable({}, {**good.columns, "unit": ["share", "ms"]})) == ()
    assert findings(AnswerTable({}, {})) == ()
