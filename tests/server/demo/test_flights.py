"""The shipped flights are the published table, and the bins are fixed and cover every delay."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.questions.linear import parse_specification
from sordino_server.demo import flights
from sordino_server.demo.make_flights import write_flights
from sordino_shared.errors import InvalidValue


def test_the_table_is_the_published_one() -> None:
    table = flights.load_flights()
    assert len(table) == 327_346
    assert table.arrival_delay.sum() == 2_257_174
    assert (table.arrival_delay.min(), table.arrival_delay.max()) == (-86, 1272)
    assert table.departure_delay.sum() == 4_109_880
    assert sorted(set(table.carrier))[:3] == ["9E", "AA", "AS"]
    assert len(table.carrier) == len(table.departure_delay) == len(table)
    assert sorted(set(table.origin)) == ["EWR", "JFK", "LGA"]
    assert (int(table.month.astype(int).sum()), int(table.hour.min()), int(table.hour.max())) == (2_148_962, 5, 23)
    assert (table.arrival_delay > 30).mean() == pytest.approx(0.15732, abs=1e-5)


def test_the_maker_keeps_flights_with_both_delays_in_sorted_columns(tmp_path: Path) -> None:
    rows = [("UA", "11", "2"), ("AA", "NA", "3"), ("AA", "-4", "0"), ("AA", "5", ""), ("AA", "-9", "7.0")]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["carrier", "arr_delay", "dep_delay", "origin", "month", "hour"])
    writer.writerows([*row, "JFK", "7", "15"] for row in rows)
    with zipfile.ZipFile(tmp_path / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", text.getvalue())
    assert write_flights(tmp_path / "flights.csv.zip", tmp_path / "flights.npz") == 3
    columns = np.load(tmp_path / "flights.npz")
    assert columns["arrival_delay"].tolist() == [-9, -4, 11]
    assert columns["departure_delay"].tolist() == [7, 0, 2]
    assert columns["carriers"][columns["carrier"]].tolist() == ["AA", "AA", "UA"]
    assert columns["origins"][columns["origin"]].tolist() == ["JFK"] * 3
    assert (columns["month"].tolist(), columns["hour"].tolist()) == ([7] * 3, [15] * 3)


def test_a_draw_is_reproducible_and_repeats_no_flight_until_it_must() -> None:
    everybody = flights.draw_delays(327_346, seed=1)
    assert everybody.sum() == flights.load_flights().arrival_delay.sum()
    assert (flights.draw_delays(500, seed=7) == flights.draw_delays(500, seed=7)).all()
    assert (flights.draw_delays(500, seed=7) != flights.draw_delays(500, seed=8)).any()
    assert len(flights.draw_delays(400_000, seed=1)) == 400_000


@pytest.mark.parametrize("bins", [2, 3, 16, 63, 64, 65, 128, 240])
def test_every_number_of_bins_has_increasing_edges(bins: int) -> None:
    workload = parse_specification(flights.delay_specification(flights.DelayQueries.PREFIX, bins)).build()
    assert workload.size == bins
    assert workload.queries == bins - 1


def test_sixty_four_bins_have_the_documented_edges() -> None:
    assert flights.delay_edges(64) == flights.EDGES
    domain = parse_specification(flights.delay_specification(flights.DelayQueries.HISTOGRAM, 64)).build().domain
    assert [domain.encode(delay) for delay in (-86, -60, -59, 900, 901, 1272)] == [0, 0, 1, 62, 63, 63]


@pytest.mark.parametrize("bins", [-1, 0, 1, 241])
def test_refuses_bins_that_it_cannot_cut(bins: int) -> None:
    with pytest.raises(InvalidValue, match="2 to 240"):
        flights.delay_edges(bins)
