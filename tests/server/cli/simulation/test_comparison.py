"""Estimates beside the truth: inside and outside are told apart, ends included."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_server.cli.simulation.comparison import TruthComparison
from sordino_shared.errors import InvalidValue


def query(value: float, interval: tuple[float, float], band: tuple[float, float]) -> dict[str, object]:
    return {
        "label": f"at {value}",
        "unit": "share",
        "value": value,
        "uncut": value,
        "interval": interval,
        "band": band,
    }


QUERIES = [
    query(0.2, (0.1, 0.3), (0.0, 0.4)),
    query(0.5, (0.45, 0.55), (0.4, 0.7)),
    query(0.9, (0.8, 1.0), (0.7, 1.1)),
]


def test_counts_truths_inside_with_the_ends() -> None:
    comparison = TruthComparison.of(np.array([0.1, 0.6, 1.0]), QUERIES)
    assert comparison.inside.tolist() == [True, False, True]
    assert comparison.interval_coverage == pytest.approx(2 / 3)
    assert comparison.band_holds
    assert comparison.max_abs_error == pytest.approx(0.1)
    assert comparison.rms_error == pytest.approx(0.1)


@pytest.mark.parametrize("truth", [[0.41, 0.5, 0.9], [0.2, 0.39, 0.9], [0.2, 0.5, 1.11]])
def test_one_truth_outside_breaks_the_band(truth: list[float]) -> None:
    assert not TruthComparison.of(np.array(truth), QUERIES).band_holds


def test_shows_both_ends_and_no_query_twice() -> None:
    comparison = TruthComparison.of(np.array([0.1, 0.6, 1.0]), QUERIES)
    assert comparison.shown(2) == [0, 2]
    assert comparison.shown(10) == [0, 1, 2]
    assert comparison.only([2]).labels == ("at 0.9",)


def test_refuses_answers_to_other_queries() -> None:
    with pytest.raises(InvalidValue, match="3 answers came for 2 queries"):
        TruthComparison.of(np.array([0.1, 0.6]), QUERIES)
