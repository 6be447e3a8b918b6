"""`sa.chart` draws what the analyst holds, with the numbers of the tables."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_shared.errors import InvalidValue

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def plans() -> list[sa.Plan]:
    """Two plans of one question."""
    ranges = sa.ranges([0, 15, 60], name="delay", unit="min")
    return [sa.plan(ranges, epsilon=e, mechanism="randomized_response") for e in (1, 2)]


def description(picture: sa.Picture) -> str:
    return ET.fromstring(picture.svg).findtext(SVG + "desc") or ""


def test_an_estimate_of_ranges(plans: list[sa.Plan], tmp_path: Path) -> None:
    estimate = sa.estimate(plans[0], sa.Aggregate(1000, np.array([400, 300, 200, 100])))
    picture = sa.chart(estimate)
    assert f"to {estimate.values.max():.4g}" in description(picture)
    assert "from delay in min" in picture.svg
    picture.save(tmp_path / "ranges.svg")
    assert (tmp_path / "ranges.svg").read_text(encoding="utf-8") == picture._repr_svg_()


def test_a_plan_and_several(plans: list[sa.Plan]) -> None:
    assert "4 × 4 cells, from 0 to 1" in description(sa.chart(plans[0]))
    assert "1 mechanism at 2 values of ε" in description(sa.chart(plans))
    other = sa.plan(sa.histogram(3), epsilon=1, mechanism="randomized_response")
    with pytest.raises(InvalidValue, match="one workload"):
        sa.chart([plans[0], other])


def test_a_series_of_periods(plans: list[sa.Plan]) -> None:
    days = {day: sa.Aggregate(600, np.array([300, 100, 100, 100 + day])) for day in (*range(8), 10)}
    picture = sa.chart(sa.series(plans[0], days, slots=30))
    assert "Periods 0 to 10, 9 with reports" in description(picture)
    assert "smoothed line" in picture.svg


@pytest.mark.parametrize("given", [None, [], "plan", [1]])
def test_other_things_have_no_picture(given: object) -> None:
    with pytest.raises(TypeError, match="chart draws"):
        sa.chart(given)
