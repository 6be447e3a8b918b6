"""The statistics of the demo: the examples ask the same, and binning moves the truth by what the pages say."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.kinds.specifications import load_question
from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic
from sordino_analysis.vectorized.domains import encode_many
from sordino_server.demo.flight_statistics import FlightStatistic, device_values, raw_truth, statistic_specification
from sordino_server.demo.flights import Flights, load_flights

EXAMPLES = Path(__file__).parents[3] / "examples"
# What the READMEs of the examples say, over all 327,346 flights: raw and binned.
TRUTHS = {
    FlightStatistic.KENDALL: (0.4601, 0.4536),
    FlightStatistic.AUC: (0.8990, 0.8979),
    FlightStatistic.GINI: (0.8725, 0.8725),
}


def _some_flights(users: int) -> Flights:
    flights = load_flights()
    rows = np.random.default_rng(5).integers(0, len(flights), users)
    return Flights(**{name: column[rows] for name, column in vars(flights).items()})


def _counts(statistic: PairwiseStatistic, asked: FlightStatistic, flights: Flights) -> Floats:
    """Flights that are alike are encoded once: some 68,000 of 327,346 differ."""
    columns = (flights.departure_delay, flights.arrival_delay, np.unique(flights.carrier, return_inverse=True)[1])
    _, rows, times = np.unique(np.stack(columns), axis=1, return_index=True, return_counts=True)
    alike = Flights(**{name: column[rows] for name, column in vars(flights).items()})
    cells = encode_many(statistic.domain, device_values(asked, alike), strict=True)
    return np.bincount(cells, weights=times, minlength=statistic.size)


@pytest.mark.parametrize("asked", FlightStatistic)
def test_the_examples_ask_what_the_demo_asks(asked: FlightStatistic) -> None:
    example = load_question(EXAMPLES / f"flights-{asked}" / "workload.yaml")
    assert example == parse_statistic(statistic_specification(asked))


@pytest.mark.parametrize("asked", FlightStatistic)
def test_both_truths_are_what_the_examples_say(asked: FlightStatistic) -> None:
    flights = load_flights()
    statistic = parse_statistic(statistic_specification(asked)).build()
    raw, binned = TRUTHS[asked]
    assert raw_truth(asked, flights) == pytest.approx(raw, abs=5e-5)
    assert statistic.of_pairs(_counts(statistic, asked, flights)) == pytest.approx(binned, abs=5e-5)
    page = (EXAMPLES / f"flights-{asked}" / "README.md").read_text(encoding="utf-8")
    assert f"{raw:.4f}" in page
    assert f"{binned:.4f}" in page


def test_the_raw_truth_is_a_loop_over_pairs() -> None:
    flights = _some_flights(120)
    pairs = list(combinations(range(len(flights)), 2))
    departure, arrival = flights.departure_delay.astype(float), flights.arrival_delay.astype(float)
    signs = [np.sign(departure[i] - departure[j]) * np.sign(arrival[i] - arrival[j]) for i, j in pairs]
    assert raw_truth(FlightStatistic.KENDALL, flights) == pytest.approx(float(np.mean(signs)))
    assert raw_truth(FlightStatistic.GINI, flights) == pytest.approx(
        float(np.mean([flights.carrier[i] != flights.carrier[j] for i, j in pairs]))
    )
    late = arrival > 15
    wins = [(p > n) + 0.5 * (p == n) for p in departure[late] for n in departure[~late]]
    assert raw_truth(FlightStatistic.AUC, flights) == pytest.approx(float(np.mean(wins)))
