"""The charts are well-formed SVG whose marks stand where the numbers say."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from sordino_analysis.charts import AnswerChart, EstimateChart, draw_answers, draw_estimate
from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_shared.errors import InvalidValue

SVG = "{http://www.w3.org/2000/svg}"


def chart(**changes: object) -> AnswerChart:
    values: dict[str, object] = {
        "title": "Delays <of> flights & more",
        "subtitle": "three answers",
        "axis": "minutes",
        "truth": [0.1, 0.5, 1.0],
        "estimate": [0.12, 0.45, 1.02],
        "lower": [0.0, 0.35, 0.9],
        "upper": [0.2, 0.6, 1.1],
        "ticks": [(0.0, "−10"), (1.0, "0"), (2.0, "10")],
    }
    return AnswerChart(**(values | changes))  # type: ignore[arg-type]


def points(root: ET.Element, kind: str, shape: str) -> list[list[tuple[float, float]]]:
    found = [element for element in root.iter(SVG + shape) if element.get("class") == kind]
    return [[tuple(map(float, pair.split(","))) for pair in element.attrib["points"].split()] for element in found]


def test_is_well_formed_and_says_what_it_shows() -> None:
    root = ET.fromstring(draw_answers(chart()))
    assert root.findtext(SVG + "title") == "Delays <of> flights & more"
    assert {"−10", "0", "10", "minutes"} <= {element.text for element in root.iter(SVG + "text")}
    assert len(list(root.iter(SVG + "circle"))) == 6


def test_a_higher_answer_stands_higher_and_the_band_encloses_the_truth() -> None:
    root = ET.fromstring(draw_answers(chart()))
    (truth,) = points(root, "truth", "polyline")
    band = points(root, "band", "polygon")[1]
    above, below = band[:3], band[3:][::-1]
    assert [y for _, y in truth] == sorted((y for _, y in truth), reverse=True)
    for (x, y), (x_above, y_above), (x_below, y_below) in zip(truth, above, below, strict=True):
        assert x == x_above == x_below
        assert y_above < y < y_below


def test_the_lower_panel_shows_estimate_less_truth() -> None:
    root = ET.fromstring(draw_answers(chart(estimate=[0.1, 0.5, 1.0])))
    errors = points(root, "estimate", "polyline")[1]
    (zero,) = (element for element in root.iter(SVG + "line") if element.get("class") == "zero")
    assert {y for _, y in errors} == {float(zero.attrib["y1"])}


def test_steps_draw_a_flat_piece_for_every_answer() -> None:
    root = ET.fromstring(draw_answers(chart(steps=True)))
    (truth,) = points(root, "truth", "polyline")
    assert len(truth) == 6
    assert truth[0][1] == truth[1][1] != truth[2][1]


def test_refuses_series_of_different_lengths_and_none_at_all() -> None:
    with pytest.raises(InvalidValue, match="lengths \\[2, 3\\]"):
        chart(truth=[0.1, 0.2])
    with pytest.raises(InvalidValue):
        chart(truth=[], estimate=[], lower=[], upper=[])


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [(0.0, 1.0, 5, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (-0.04, 0.05, 4, [0.0, 0.05]), (0.0, 7.0, 7, list(range(8)))],
)
def test_ticks_are_round_and_within_the_range(low: float, high: float, most: int, expected: list[float]) -> None:
    assert round_ticks(low, high, most) == pytest.approx(expected)


def test_labels_that_would_touch_are_left_out() -> None:
    scale = Scale(0.0, 10.0, 0.0, 100.0)
    kept = room_for([(0.0, "0"), (1.0, "1"), (5.0, "five"), (6.0, "six")], scale)
    assert [text for _, text in kept] == ["0", "five"]


def estimate_chart(values: list[float], **changes: object) -> EstimateChart:
    given: dict[str, object] = {
        "title": "Delays <of> flights & more",
        "subtitle": "some answers",
        "level": 0.95,
        "labels": [f"at most {index}" for index in range(len(values))],
        "values": values,
        "intervals": [(value - 0.1, value + 0.1) for value in values],
        "bands": [(value - 0.2, value + 0.2) for value in values],
    }
    return EstimateChart(**(given | changes))  # type: ignore[arg-type]


def test_an_estimate_has_a_band_around_its_interval_around_its_answer() -> None:
    root = ET.fromstring(draw_estimate(estimate_chart([0.1, 0.5, -0.3])))
    assert "3 answers, from −30.00 % to 50.00 %" in (root.findtext(SVG + "desc") or "")
    bands = points(root, "band", "polygon")[1:]
    whiskers = [each for each in root.iter(SVG + "line") if each.get("class") == "estimate"][1:]
    dots = list(root.iter(SVG + "circle"))[1:]
    assert len(bands) == len(whiskers) == len(dots) == 3
    for band, whisker, mark in zip(bands, whiskers, dots, strict=True):
        ends = [float(whisker.attrib["y1"]), float(mark.attrib["cy"]), float(whisker.attrib["y2"])]
        heights = [max(y for _, y in band), *ends, min(y for _, y in band)]
        assert heights == sorted(heights, reverse=True)
        assert len(set(heights)) == 5


def test_an_estimate_of_65536_answers_is_small_and_keeps_the_largest() -> None:
    values = [0.0] * 65_536
    values[40_000] = 1.0
    drawn = draw_estimate(estimate_chart(values))
    assert len(drawn) < 300_000
    strokes = [each for each in ET.fromstring(drawn).iter(SVG + "line") if each.get("class") == "estimate"][1:]
    lengths = [abs(float(each.attrib["y2"]) - float(each.attrib["y1"])) for each in strokes]
    assert sum(length > 100 for length in lengths) == 1
    assert min(lengths) > 0


@pytest.mark.parametrize("values", [[], [0.1]])
def test_an_estimate_needs_series_of_one_length(values: list[float]) -> None:
    with pytest.raises(InvalidValue, match="four series of one length"):
        estimate_chart(values, labels=[])
    ET.fromstring(draw_estimate(estimate_chart([0.0], intervals=[(0.0, 0.0)], bands=[(0.0, 0.0)])))
