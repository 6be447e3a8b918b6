"""Sentences about a table claim only what its band holds, on thousands of random tables and in words."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.findings import findings, told
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


def test_shares_are_ordered_as_far_as_their_bands_tell() -> None:
    """With the truth anywhere in the band, the named share is the largest and what follows is in order."""
    rng = np.random.default_rng(1)
    named = followed = 0
    for _ in range(TABLES):
        count = int(rng.integers(2, 9))
        values, reach = rng.dirichlet(np.ones(count)), rng.uniform(0.001, 0.2, count)
        found = told(table("histogram", values.tolist(), reach.tolist()))
        assert found is not None
        order = np.argsort(-values)
        low, high = np.maximum(values - reach, 0), np.minimum(values + reach, 1)
        surely = bool((high[order[1:]] < low[order[0]]).all())
        assert found.headline.startswith(f"the largest share is v{order[0]}: ") == surely
        named += surely
        for place, sentence in enumerate(found.others, 1):
            assert sentence.startswith(f"then v{order[place]}: ")
            assert (high[order[place + 1 :]] < low[order[place]]).all()
            followed += 1
        for sentence in found.untold:
            one, other = (order[len(found.others) + 1 + place] for place in (0, 1))
            assert f"v{one} or v{other} is larger" in sentence
            assert high[other] >= low[one]
    assert 0.2 * TABLES < named < 0.8 * TABLES
    assert followed > 0.05 * TABLES


def test_a_median_lies_beyond_the_steps_that_are_said() -> None:
    rng = np.random.default_rng(2)
    for _ in range(TABLES // 10):
        values = np.sort(rng.random(6))
        reach = np.full(6, rng.uniform(0.01, 0.4))
        found = told(table("prefix", values.tolist(), reach.tolist()))
        assert found is not None
        assert found.headline.startswith(f"v{np.abs(values - 0.6).argmin()}: ")
        sentence = " ".join((*found.others, *found.untold))
        for place, value in enumerate(values):
            if f"less than half have v{place}:" in sentence:
                assert value + reach[0] < 0.5
            if f"more than half have v{place}:" in sentence:
                assert value - reach[0] > 0.5
        assert ("cannot be told" in sentence) == bool((np.abs(values - 0.5) <= reach).all())


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        (
            table("histogram", [0.6, 0.3, 0.1], [0.04] * 3),
            ["the largest share is v0: 60 % ± 4", "then v1: 30 % ± 4"],
        ),
        (
            table("histogram", [0.6, 0.21, 0.19], [0.03] * 3),
            ["the largest share is v0: 60 % ± 3", "whether v1 or v2 is larger cannot be told"],
        ),
        (
            table("histogram", [0.5, 0.48, 0.02], [0.02] * 3),
            ["the largest share is one of 2, whose bands overlap: v0, v1"],
        ),
        (
            table("histogram", [0.5, 0.5], [0.08] * 2, users=1000),
            [
                "which share is the largest cannot be told: all bands overlap",
                "about 6,200 more users would make every band ± 3 % or narrower",
            ],
        ),
        (
            table("histogram", [0.5, 0.5], [0.2] * 2),
            ["too few users to tell which share is the largest: no band is narrower than 20 %"],
        ),
        (
            table("prefix", [0.2, 0.45, 0.8], [0.03] * 3),
            ["v1: 45 % ± 3", "less than half have v1: 45 % ± 3; more than half have v2: 80 % ± 3"],
        ),
        (
            table("prefix", [0.01, 0.97], [0.06] * 2),
            [
                "v1: 97 % (band 91 … 100 %)",
                "less than half have v0: 1 % (band 0 … 7 %); more than half have v1: 97 % (band 91 … 100 %)",
            ],
        ),
    ],
    ids=["largest", "tied", "two", "none", "few", "median", "cut"],
)
def test_sentences_are_in_words(given: AnswerTable, sentences: list[str]) -> None:
    assert list(findings(given)) == sentences


def test_the_best_guess_is_what_people_read_and_its_band_stays() -> None:
    given = table("histogram", [0.6, 0.41], [0.04] * 2).with_columns(best=[0.595, None])
    assert findings(given)[0] == "the largest share is v0: 60 % (band 56 … 64 %)"
    assert findings(given.with_columns(best=[0.601, None]))[0] == "the largest share is v0: 60 % ± 4"


def test_the_users_that_are_asked_for_have_bands_of_three_points() -> None:
    """Errors fall with the root of the users: with the sum of both numbers the widest band is ± 3 % or narrower."""
    rng = np.random.default_rng(3)
    for _ in range(TABLES // 10):
        users, reach = int(rng.integers(300, 10**6)), float(rng.uniform(0.031, 0.2))
        found = told(table("histogram", [0.5, 0.5], [reach, reach / 2], users=users))
        assert found is not None
        assert found.more is not None
        assert reach * (users / (users + found.more)) ** 0.5 <= 0.03
        assert reach * (users / (users + 0.9 * found.more - 1)) ** 0.5 > 0.03


def test_nothing_is_said_of_other_tables() -> None:
    good = table("histogram", [0.6, 0.4], [0.02] * 2)
    without_band = {name: cells for name, cells in good.columns.items() if name != "band_lower"}
    assert findings(AnswerTable({}, without_band)) == ()
    assert findings(table("marginal", [0.6, 0.4], [0.02] * 2)) == ()
    assert findings(table("histogram", [0.6, 0.4], [0.02] * 2, unlisted=3)) == ()
    assert findings(AnswerTable({}, {**good.columns, "unit": ["share", "ms"]})) == ()
    assert findings(AnswerTable({}, {})) == ()
