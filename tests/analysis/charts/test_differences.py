"""The picture of differences: what is told from zero is blue, all else grey, and each has its verdict in words."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.charts import DifferenceChart, DifferenceRow, draw_differences
from sordino_analysis.charts.differences import MOST_ROWS
from sordino_shared.errors import InvalidValue


def chart(*rows: DifferenceRow) -> DifferenceChart:
    return DifferenceChart(title="t", subtitle="s", axis="june − may", band="95 % band", unit="share", rows=rows)


def row(place: int, value: float, half: float) -> DifferenceRow:
    verdict = "undecided" if abs(value) <= half else "higher" if value > 0 else "lower"
    return DifferenceRow(f"row {place}", value, (value - half, value + half), verdict)


def test_what_is_told_is_blue_and_the_rest_grey_around_one_zero_line() -> None:
    drawn = draw_differences(chart(row(0, -0.2, 0.1), row(1, 0.02, 0.1), row(2, 0.3, 0.1)))
    ElementTree.fromstring(drawn)
    # A box for each, and one in the legend.
    assert drawn.count('<polygon class="band"') == 2 + 1
    assert drawn.count('<polygon class="doubt"') == 1 + 1
    assert drawn.count('<line class="zero"') == 1
    assert re.findall(r">(higher|lower|undecided)<", drawn) == ["lower", "undecided", "higher"]
    assert "3 differences, 2 of them told from 0; row 2: 30 % (20 … 40 %)" in drawn
    zero = float(re.search(r'class="zero" x1="([\d.]+)"', drawn)[1])  # type: ignore[index]
    ends = [
        [float(x) for x in pair]
        for pair in re.findall(r'<line class="(?:estimate|unsure)" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', drawn)
    ]
    assert [low < zero < high for low, high in ends] == [False, True, False]


def test_of_many_rows_the_farthest_from_zero_are_drawn_in_their_order() -> None:
    many = [row(place, 0.01 * (place % 50), 0.1) for place in range(400)]
    drawn = draw_differences(chart(*many))
    places = [int(label) for label in re.findall(r">row (\d+)<", drawn)]
    assert len(places) == MOST_ROWS
    assert places == sorted(places)
    assert {place % 50 for place in places} == {46, 47, 48, 49} & {place % 50 for place in places}
    assert "370 more are not drawn" in drawn
    with pytest.raises(InvalidValue, match="at least one row"):
        chart()


def test_a_comparison_is_drawn_in_a_notebook() -> None:
    plan = sa.plan(sa.prefix([0, 15, 60], name="delay", unit="min"), epsilon=4, mechanism="randomized_response")
    rng = np.random.default_rng(2)
    sides = [sa.simulate(plan, rng.normal(mean, 30, 4000), seed=mean) for mean in (20, 40)]
    found = sa.compare(*sides, names=("may", "june"))
    drawn = sa.chart(found).svg
    assert re.findall(r">(higher|lower|undecided)<", drawn) == list(found.verdicts)
    assert ">june − may<" in drawn
    assert "june less may, 8,000 users" in drawn
