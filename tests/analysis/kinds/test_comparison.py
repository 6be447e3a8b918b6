"""Estimates beside the truth: inside and outside are told apart, ends included."""

from __future__ import annotations

import pytest

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.kinds.comparison import TruthComparison
from sordino_shared.errors import InvalidValue


def of_rows(*rows: dict[str, Cell]) -> EstimateDocument:
    return EstimateDocument.of_rows("linear", rows, Extras(warnings=()), users=10)


def query(value: float, interval: tuple[float, float], band: tuple[float, float]) -> dict[str, Cell]:
    return {
        "label": f"at {value}",
        "unit": "share",
        "value": value,
        "uncut": value,
        "lower": interval[0],
        "upper": interval[1],
        "band_lower": band[0],
        "band_upper": band[1],
    }


QUERIES = of_rows(
    query(0.2, (0.1, 0.3), (0.0, 0.4)),
    query(0.5, (0.45, 0.55), (0.4, 0.7)),
    query(0.9, (0.8, 1.0), (0.7, 1.1)),
)


def test_counts_truths_inside_with_the_ends() -> None:
    comparison = TruthComparison.of([0.1, 0.6, 1.0], QUERIES)
    assert comparison.inside.tolist() == [True, False, True]
    assert comparison.interval_coverage == pytest.approx(2 / 3)
    assert comparison.band_holds
    assert comparison.max_abs_error == pytest.approx(0.1)
    assert comparison.rms_error == pytest.approx(0.1)


@pytest.mark.parametrize("truth", [[0.41, 0.5, 0.9], [0.2, 0.39, 0.9], [0.2, 0.5, 1.11]])
def test_one_truth_outside_breaks_the_band(truth: list[float]) -> None:
    assert not TruthComparison.of(truth, QUERIES).band_holds


def test_shows_both_ends_and_no_query_twice() -> None:
    comparison = TruthComparison.of([0.1, 0.6, 1.0], QUERIES)
    assert comparison.spread(2) == [0, 2]
    assert comparison.spread(10) == [0, 1, 2]
    assert comparison.only([2]).labels == ("at 0.9",)


def test_refuses_answers_to_other_queries() -> None:
    with pytest.raises(InvalidValue, match="3 answers came for 2 queries"):
        TruthComparison.of([0.1, 0.6], QUERIES)


def test_what_was_not_published_has_no_error_and_a_band_stands_for_intervals_that_are_not() -> None:
    none = TruthComparison.of([0.5], of_rows({"label": "ratio", "value": None, "lower": 0.4, "upper": 0.7}))
    assert (none.max_abs_error, none.rms_error, none.band_holds, none.interval_coverage) == (None, None, None, 1.0)
    assert none.document()["answers"][0]["value"] is None
    rules = [{"label": "never", "value": 0.2, "band_lower": 0.1, "band_upper": 0.3}]
    banded = TruthComparison.of([0.35], of_rows(*rules))
    assert (banded.interval_coverage, banded.band_holds, banded.inside.tolist()) == (None, False, [False])
