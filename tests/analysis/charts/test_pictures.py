"""Each picture shows the numbers that it is given, says in words what it shows, and stays small."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.charts import (
    EstimateChart,
    HeatMap,
    PlanVariances,
    RankedChart,
    RankedRow,
    SeriesChart,
    SeriesPoint,
    StepChart,
    StepCurve,
    VarianceChart,
    draw_estimate,
    draw_heat_maps,
    draw_ranked,
    draw_series,
    draw_steps,
    draw_variances,
    svg,
)
from sordino_analysis.charts.kernels import draw_kernel, kernel_table
from sordino_analysis.charts.svg import SHADES, STYLE
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import SeededDirection
from tests.randomizers import SAMPLES

SVG = "{http://www.w3.org/2000/svg}"


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(SVG + "text")]


def of_kind(root: ET.Element, kind: str) -> list[ET.Element]:
    return [element for element in root.iter() if element.get("class") == kind]


def cells(root: ET.Element) -> dict[int, int]:
    """How many cells have each shade, without the samples of the scale."""
    found = {}
    for shade in range(SHADES):
        squares = "".join(element.attrib["d"] for element in of_kind(root, f"h{shade}"))
        found[shade] = squares.count("z")
    return found


def estimate(values: list[float], bounds: list[list[AttributeBounds]], kind: str) -> EstimateChart:
    return EstimateChart(
        title="Delays <of> flights",
        subtitle="1,000 users, ε = 1",
        level=0.95,
        labels=[f"query {number}" for number in range(len(values))],
        values=values,
        intervals=[(value - 0.1, value + 0.1) for value in values],
        bands=[(value - 0.2, value + 0.2) for value in values],
        kinds=[kind] * len(values),
        bounds=bounds,
    )


def ranges(bins: int) -> EstimateChart:
    found, values = [], []
    for first in range(bins):
        for last in range(first, bins):
            low, high = (first or None), (last + 1 if last < bins - 1 else None)
            whole = low is None and high is None
            found.append([] if whole else [AttributeBounds(attribute="delay", low=low, high=high, unit="min")])
            values.append((last - first + 1) / bins)
    return estimate(values, found, "ranges")


def test_ranges_are_two_triangles() -> None:
    root = ET.fromstring(draw_estimate(ranges(10)))
    drawn = cells(root)
    # Two triangles of 55 cells, and a sample of each shade for either; the second has its least number in all cells.
    assert sum(drawn.values()) == 2 * 55 + 2 * SHADES
    # A tenth of the shares is below .1 of the largest …: of lengths 1 to 10 there are 10 to 1.
    assert drawn[SHADES - 1] == 2 + (2 + 1)
    assert drawn[0] >= 55
    assert {"from delay in min", "to delay in min", "share of users", "± of the 95 % band"} <= set(texts(root))
    assert "10 × 10 cells, from 10 % to 100 %" in (root.findtext(SVG + "desc") or "")


def test_many_ranges_are_thinned_out_to_few_cells() -> None:
    drawn = draw_estimate(ranges(200))
    assert len(drawn) < 300_000
    root = ET.fromstring(drawn)
    assert 64 * 64 / 2 < sum(cells(root).values()) / 2 < 64 * 64


def test_marginals_have_a_panel_for_each_set_of_attributes() -> None:
    system = [AttributeBounds(attribute="os", label=label) for label in ("linux", "mac")]
    wifi = [AttributeBounds(attribute="wifi", label=label) for label in ("yes", "no")]
    bounds = [*([each] for each in system), *([each] for each in wifi), *([a, b] for a in system for b in wifi)]
    root = ET.fromstring(draw_estimate(estimate([0.6, 0.4, 0.3, 0.7, 0.2, 0.4, 0.1, 0.3], bounds, "marginal")))
    assert {"os", "wifi", "os × wifi"} <= set(texts(root))
    assert len(of_kind(root, "zero")) == 3
    assert len(of_kind(root, "point")) == 1 + 8
    heights = {element.attrib["cy"] for element in of_kind(root, "point")[1:]}
    # All panels of a row have one scale: .4 and .3 stand twice at one height each.
    assert len(heights) == 6


def test_a_histogram_over_two_attributes_is_no_marginal() -> None:
    bounds = [
        [AttributeBounds(attribute="os", label=a), AttributeBounds(attribute="wifi", label=b)]
        for a in "ab"
        for b in "cd"
    ]
    root = ET.fromstring(draw_estimate(estimate([0.1, 0.2, 0.3, 0.4], bounds, "histogram")))
    assert "query 3" in texts(root)


def test_a_distribution_has_its_numbers_below() -> None:
    bounds = [[AttributeBounds(attribute="delay", high=high, unit="min")] for high in (0, 15.5, 60)]
    root = ET.fromstring(draw_estimate(estimate([0.2, 0.5, 0.9], bounds, "prefix")))
    assert {"≤ 0", "≤ 15.5", "≤ 60", "delay in min", "share of users"} <= set(texts(root))


def test_65536_bins_are_drawn_in_a_second_of_cpu_and_300_kb() -> None:
    bounds = [[AttributeBounds(attribute="page", label=f"page {number}")] for number in range(65_536)]
    chart = estimate([0.0] * 65_536, bounds, "histogram")
    started = time.process_time()
    drawn = draw_estimate(chart)
    assert time.process_time() - started < 1.0
    assert len(drawn) < 300_000


def test_bounds_are_of_every_answer_or_of_none() -> None:
    with pytest.raises(InvalidValue, match="every answer or of none"):
        EstimateChart(
            title="",
            subtitle="",
            level=0.95,
            labels=["a"],
            values=[0.1],
            intervals=[(0, 1)],
            bands=[(0, 1)],
            kinds=["x"],
        )


def test_rules_are_ranked_and_those_that_may_be_best_have_another_mark() -> None:
    rows = [RankedRow(f"rule {n}", 0.1 + n / 100, (0.05 + n / 100, 0.15 + n / 100), n < 3) for n in range(40)]
    chart = RankedChart(
        title="Late", subtitle="40 rules", axis="loss", leading="may be best", interval="95 % band", rows=rows,
        base=("never", 0.3),
    )  # fmt: skip
    root = ET.fromstring(draw_ranked(chart))
    assert len(of_kind(root, "point")) == 1 + 3
    assert len(of_kind(root, "paper")) == 1 + 27
    (limit,) = of_kind(root, "limit")[1:]
    assert limit.attrib["x1"] == limit.attrib["x2"]
    assert "10 more are not drawn" in (root.findtext(SVG + "desc") or "")
    with pytest.raises(InvalidValue):
        RankedChart(title="", subtitle="", axis="", leading="", interval="", rows=[])


def point(period: int, *values: float) -> SeriesPoint:
    ends = [(value - 0.05, value + 0.05) for value in values]
    return SeriesPoint(first=period, last=period, values=values, intervals=ends, band=ends)


def test_a_series_has_a_panel_for_each_answer_and_a_gap_where_no_reports_came() -> None:
    periods = [point(period, 0.5, 0.2 + period / 10) for period in (0, 1, 4)]
    chart = SeriesChart(
        title="Daily", subtitle="", level=0.95, labels=["steady", "rising"], periods=periods, windows=periods[1:],
        trend=[(0, (0.5, 0.2)), (1, (0.5, 0.3)), (4, (0.5, 0.6))],
    )  # fmt: skip
    root = ET.fromstring(draw_series(chart))
    assert {"steady", "rising", "period"} <= set(texts(root))
    assert len(of_kind(root, "point")) == 1 + 2 * 3
    assert len(of_kind(root, "band")) == 1 + 2 * 2
    places = sorted({float(element.attrib["cx"]) for element in of_kind(root, "point")[1:]})
    assert places[2] - places[1] == pytest.approx(3 * (places[1] - places[0]), abs=0.2)
    assert "3 with reports" in (root.findtext(SVG + "desc") or "")


def test_of_many_answers_those_that_move_most_are_drawn() -> None:
    labels = [f"answer {number}" for number in range(20)]
    periods = [point(period, *(period * (number == 7) for number in range(20))) for period in (0, 1)]
    drawn = ET.fromstring(
        draw_series(SeriesChart(title="", subtitle="", level=0.9, labels=labels, periods=periods, windows=[]))
    )
    assert "answer 7" in texts(drawn)
    assert len([text for text in texts(drawn) if text.startswith("answer")]) == 8


def test_variances_fall_with_epsilon_above_the_bound() -> None:
    plans = [
        PlanVariances(
            epsilon=e, variances=[("randomized_response", 9 / e**2), ("haar", 5 / e**2)], taken="haar", bound=4 / e**2
        )
        for e in (2.0, 0.5, 1.0)
    ]
    root = ET.fromstring(draw_variances(VarianceChart(title="", subtitle="", plans=plans)))
    response, haar = ([[*map(float, p.split(","))] for p in each.attrib["points"].split()]
                      for each in of_kind(root, "estimate") if each.tag == SVG + "polyline")  # fmt: skip
    bound = [[*map(float, p.split(","))] for p in of_kind(root, "limit")[1].attrib["points"].split()]
    for above, middle, below in zip(response, haar, bound, strict=True):
        assert above[1] < middle[1] < below[1]
        assert above[0] == middle[0] == below[0]
    # On logarithmic axes a power is a straight line: halving ε moves as far from 2 to 1 as from 1 to .5.
    assert haar[0][1] - haar[1][1] == pytest.approx(haar[1][1] - haar[2][1], abs=0.2)
    assert len([each for each in of_kind(root, "mark") if each.tag == SVG + "circle"]) == 3
    assert {"0.5", "1", "2", "haar", "randomized_response"} <= set(texts(root))
    with pytest.raises(InvalidValue):
        VarianceChart(title="", subtitle="", plans=[])


def test_one_plan_alone_has_numbers_beside_it() -> None:
    plan = PlanVariances(epsilon=1, variances=[("haar", 2.76)], taken="haar", bound=2.25)
    drawn = texts(ET.fromstring(draw_variances(VarianceChart(title="", subtitle="", plans=[plan]))))
    assert len([label for label in drawn if re.fullmatch(r"2\.\d+", label)]) >= 3


def test_steps_rise_to_the_level_that_is_wanted() -> None:
    curve = StepCurve("counted", "estimate", [(1_700_000_000, 10), (1_700_000_060, 50), (1_700_000_120, 100)])
    chart = StepChart(
        title="Reports",
        subtitle="round 0",
        axis="reports",
        curves=[curve],
        levels=[("wanted", 100)],
        until=1_700_000_300,
    )
    root = ET.fromstring(draw_steps(chart))
    (stairs,) = (each for each in of_kind(root, "estimate") if each.tag == SVG + "polyline")
    points = [[*map(float, pair.split(","))] for pair in stairs.attrib["points"].split()]
    assert len(points) == 6
    assert float(of_kind(root, "limit")[0].attrib["y1"]) == points[-1][1]
    assert "22:14:00" in texts(root)
    assert "counted: 100 at last; wanted: 100" in (root.findtext(SVG + "desc") or "")
    with pytest.raises(InvalidValue):
        StepChart(title="", subtitle="", axis="", curves=[], levels=[], until=0)


@pytest.mark.parametrize("mechanism", ["optimised_kernel", "randomized_response", "subset_selection"])
def test_a_kernel_is_between_0_and_epsilon(mechanism: str) -> None:
    plan = sa.plan(sa.histogram(5), epsilon=1, mechanism=mechanism, effort="quick", seed=1)
    table = kernel_table(plan.device)
    ratio = np.log(table.max(axis=1) / table.min(axis=1))
    assert ratio.max() <= 1
    assert ratio.max() == pytest.approx(1, abs=1e-4)
    root = ET.fromstring(draw_kernel("Kernel", mechanism, plan.device))
    assert sum(cells(root).values()) == table.size + SHADES


def test_a_kernel_with_a_seed_is_not_drawn() -> None:
    direction = next(iter(SAMPLES[SeededDirection].values())).part
    with pytest.raises(InvalidValue, match="too many reports"):
        kernel_table(direction)


def test_a_heat_map_needs_a_name_for_each_row() -> None:
    with pytest.raises(InvalidValue, match="name for each row"):
        HeatMap(title="", rows=["a"], columns=["b", "c"], row_axis="", column_axis="", cells=np.ones((2, 2)))
    drawn = HeatMap(title="t", rows=["a"], columns=["b"], row_axis="", column_axis="", cells=np.zeros((1, 1)))
    ET.fromstring(draw_heat_maps("", "", [drawn]))


def test_lines_are_not_filled() -> None:
    """A polyline without `fill: none` is a black area."""
    (hollow,) = re.findall(r"([^\n{}]+) \{ fill: none;", STYLE)
    classes = {name.strip().lstrip(".") for name in hollow.split(",")}
    texts_of_modules = "".join(path.read_text(encoding="utf-8") for path in Path(svg.__file__).parent.glob("*.py"))
    drawn = set(re.findall(r'curve\([^\n"]*"(\w+)"\)', texts_of_modules))
    assert drawn
    assert drawn <= classes


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_text_and_lines_can_be_told_from_the_ground_in_light_and_dark() -> None:
    for rules in STYLE.split("@media (prefers-color-scheme: dark)"):
        colours = {
            name.lstrip("."): colour
            for names, colour in re.findall(r"([^{}]+?) \{ (?:fill|stroke): (#[0-9a-f]{6})", rules)
            for name in names.strip().split(", ")
        }
        assert contrast(colours["text"], colours["paper"]) >= 4.5
        assert contrast(colours["title"], colours["paper"]) >= 4.5
        for line in ("estimate", "truth", "limit", "other", "point", "mark", "unsure", "grey"):
            assert contrast(colours[line], colours["paper"]) >= 3, line
