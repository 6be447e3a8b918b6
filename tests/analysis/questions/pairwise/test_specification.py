"""The written form of a statistic: what it builds, and what it refuses with which advice."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.pairwise import parse_statistic

DELAY = {"name": "delay", "kind": "ordinal", "unit": "min", "edges": [0, 15]}
EARLY = {"name": "early", "kind": "ordinal", "edges": {"low": -10, "high": 20, "bins": 3}}
LATE = {"name": "late", "kind": "categorical", "labels": ["yes", "no"], "missing": True}
ONE_BIN = {"name": "flat", "kind": "ordinal", "edges": []}
MEAN_DIFFERENCE = {"kind": "gini_mean_difference", "outer": [-5, 60]}
TAU = {"kind": "kendall", "attributes": ["delay", "early"], "variant": "b"}
CURVE = {"kind": "auc", "score": "delay", "label": "late", "positive": "yes"}
FUNCTION = {"distances": [0, 10, 30], "values": [0, 4, 5]}


def written(statistic: dict[str, Any], *domain: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "test", "domain": copy.deepcopy(list(domain or (DELAY,))), "statistic": statistic, **more}


EVERY_KIND = [
    written({"kind": "gini_diversity"}, DELAY, LATE),
    written({"kind": "gini_diversity", "attribute": "late"}, DELAY, LATE),
    written(MEAN_DIFFERENCE),
    written({"kind": "gini_mean_difference"}, EARLY),
    written({"kind": "variance", "values": [-3, 1 / 3, 90]}),
    written({"kind": "lipschitz", "table": [0, 0.1, 0.3]}),
    written({"kind": "lipschitz", "matrix": [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]}),
    written({"kind": "lipschitz", "function": FUNCTION}, EARLY),
    written(TAU, DELAY, EARLY, LATE),
    written(TAU | {"variant": "a"}, DELAY, EARLY),
    written(CURVE, DELAY, LATE),
    written({"kind": "matrix", "matrix": [[0, 1, 2], [3, 0, 1 / 3], [5, 6, 7]]}),
]


@pytest.mark.parametrize("document", EVERY_KIND, ids=lambda document: str(document["statistic"])[:50])
def test_the_specification_stored_rebuilds_the_same_statistic(document: dict[str, Any]) -> None:
    statistic = parse_statistic(document).build()
    again = parse_statistic(json.loads(json.dumps(statistic.specification, sort_keys=True))).build()
    assert again.specification == statistic.specification
    assert (again.name, again.domain, again.notes) == (statistic.name, statistic.domain, statistic.notes)
    assert [form.name for form in again.forms] == [form.name for form in statistic.forms]
    for one, other in zip(again.forms, statistic.forms, strict=True):
        assert one.matrix.tobytes() == other.matrix.tobytes()


def test_even_bins_stand_for_their_middles() -> None:
    statistic = parse_statistic(written({"kind": "gini_mean_difference"}, EARLY)).build()
    assert [statistic.domain.label(cell) for cell in range(3)] == ["≤ 0", "(0, 10]", "> 10"]
    np.testing.assert_array_equal(statistic.forms[0].matrix, [[0, 10, 20], [10, 0, 10], [20, 10, 0]])
    assert statistic.notes == (
        "bins of early stand for their middles, -5 to 15",
        "binning moves the statistic by at most 10, for values from -10 to 20",
    )


def test_the_outer_bins_stand_for_what_is_said() -> None:
    statistic = parse_statistic(written(MEAN_DIFFERENCE)).build()
    np.testing.assert_array_equal(statistic.forms[0].matrix[0], [0, 12.5, 65])
    assert statistic.notes == ("bins of delay stand for their middles, the outer ones for -5 and 60 min",)


@pytest.mark.parametrize(
    ("document", "advice"),
    [
        (written({"kind": "median"}), "statistic: .*'gini_diversity'"),
        (written({}), "kind"),
        (written(TAU | {"colour": "red"}, DELAY, EARLY), "colour"),
        (written(TAU, DELAY, EARLY, colour="red"), "colour"),
        (written(MEAN_DIFFERENCE, name=""), "name"),
        ({"name": "x", "domain": [DELAY]}, "statistic"),
        ([], "dictionary"),
        (written({"kind": "gini_diversity"}, {**DELAY, "edges": []}), "at least two"),
        (written({"kind": "gini_diversity", "attribute": "speed"}), "no attribute 'speed'; it has \\['delay'\\]"),
        (written({"kind": "gini_diversity", "attribute": "flat"}, DELAY, ONE_BIN), "same for every pair"),
        (written(MEAN_DIFFERENCE | {"attribute": "speed"}), "'speed' is no ordinal"),
        (written(MEAN_DIFFERENCE | {"attribute": "late"}, DELAY, LATE), "'late' is no ordinal"),
        (written(MEAN_DIFFERENCE, LATE), "'late' is no ordinal"),
        (written(MEAN_DIFFERENCE, DELAY, LATE), "say which of \\['delay', 'late'\\]"),
        (written({"kind": "gini_mean_difference"}), "outer bins of 'delay' are unbounded"),
        (written({"kind": "variance", "values": [1, 2, 30], "outer": [0, 1]}), "not both"),
        (written({"kind": "variance", "outer": [0, 1]}, EARLY), "stand for their middles"),
        (written({"kind": "variance", "values": [1, 2]}), "2 values for 3 bins"),
        (written({"kind": "variance", "values": [-1, 2, 3]}), "3 stands for bin 3, which is from 15"),
        (written({"kind": "variance", "outer": [1, 20]}), "1 stands for bin 1"),
        (written({"kind": "variance", "values": [-1, 2, float("nan")]}), "finite"),
        (written({"kind": "variance", "values": [-1, 2, 1e60]}), "scale"),
        (written({"kind": "variance", "outer": [0, 1]}, ONE_BIN, LATE), "say which"),
        (written({"kind": "variance", "outer": [0, 1], "attribute": "flat"}, ONE_BIN, LATE), "one bin only"),
        (written({"kind": "lipschitz"}), "one of table, matrix and function, not none"),
        (written({"kind": "lipschitz", "table": [0, 1, 2], "function": FUNCTION}), "'table', 'function'"),
        (written({"kind": "lipschitz", "table": [0, 1]}), "2 values for the 3 bins"),
        (written({"kind": "lipschitz", "table": [0, 1, 2, 3]}), "one for each number of steps from 0 to 2"),
        (written({"kind": "lipschitz", "table": [1, 1, 1]}), "same for every pair"),
        (written({"kind": "lipschitz", "table": [0, 1, float("inf")]}), "finite"),
        (written({"kind": "lipschitz", "table": [0, 1, 1e200]}), "scale"),
        (written({"kind": "lipschitz", "table": [0, 1, 2], "outer": [0, 20]}), "leave values and outer out"),
        (written({"kind": "lipschitz", "matrix": [[0, 1, 2]]}), "square and symmetric"),
        (written({"kind": "lipschitz", "matrix": [[0, 1], [1, 0]]}), "each of the 3 cells"),
        (written({"kind": "lipschitz", "matrix": [[0, 1, 2], [1, 0, 1], [3, 1, 0]]}), "kind: matrix takes any"),
        (written({"kind": "lipschitz", "function": {"distances": [0, 1], "values": [1]}}, EARLY), "give one each"),
        (written({"kind": "lipschitz", "function": {"distances": [1, 2], "values": [1, 2]}}, EARLY), "begin at 0"),
        (written({"kind": "lipschitz", "function": {"distances": [0, 0], "values": [1, 2]}}, EARLY), "increase"),
        (written(TAU | {"attributes": ["delay", "delay"]}), "named twice"),
        (written(TAU | {"attributes": ["delay"]}), "attributes"),
        (written(TAU), "no attribute 'early'"),
        (written(TAU | {"attributes": ["delay", "late"]}, DELAY, LATE), "'late' is categorical, and must be ordinal"),
        (written({"kind": "kendall", "attributes": ["delay", "early"]}, DELAY, EARLY), "variant"),
        (written(TAU | {"attributes": ["delay", "flat"]}, DELAY, ONE_BIN), "same for every pair"),
        (written(CURVE | {"positive": "perhaps"}, DELAY, LATE), "lists \\['yes', 'no'\\], and not 'perhaps'"),
        (written(CURVE | {"positive": "missing"}, DELAY, LATE), "and not 'missing'"),
        (written(CURVE | {"label": "speed"}, DELAY, LATE), "statistic.label: .*'speed'"),
        (written(CURVE | {"label": "delay"}, DELAY, LATE), "must be categorical"),
        (written(CURVE | {"score": "late"}, DELAY, LATE), "must be ordinal"),
        (written(CURVE, DELAY, {**LATE, "labels": ["yes"], "other": True}), "no label but the positive"),
        (written(CURVE | {"score": "flat"}, ONE_BIN, LATE), "same for every pair"),
        (written({"kind": "matrix", "matrix": []}), "empty"),
        (written({"kind": "matrix", "matrix": [[0, 1], [1, 0]]}), "each of the 3 cells"),
        (written({"kind": "matrix", "matrix": [[0, 1, 2]]}), "1 row for 3 cells"),
        (written({"kind": "matrix", "matrix": [[2, 2, 2]] * 3}), "same for every pair"),
        (written({"kind": "matrix", "matrix": [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]}), "same for every pair"),
        (written({"kind": "matrix", "matrix": [[0, 1, "2"]] * 3}), "number"),
        (written({"kind": "matrix", "matrix": [[0, 1, float("nan")]] * 3}), "finite"),
        (written({"kind": "matrix", "file": "secret.csv"}), "put the matrix here"),
        (written({"kind": "gini_diversity"}, {**EARLY, "edges": {"low": 0, "high": 1, "bins": 4097}}), "at most 4096"),
        (written({"kind": "gini_diversity"}, {**EARLY, "edges": {"low": 0, "high": 0, "bins": 3}}), "must be below"),
        (written({"kind": "gini_diversity"}, {**EARLY, "edges": {"low": 0, "high": 1, "bins": 1}}), "greater than"),
        (written({"kind": "gini_diversity"}, {**EARLY, "edges": {"low": -1e308, "high": 1e308, "bins": 3}}), "finite"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_advice(document: Any, advice: str) -> None:
    with pytest.raises(WorkloadError, match=advice):
        parse_statistic(document).build()


OPEN = {"name": "share", "kind": "ordinal", "edges": {"low": -1, "high": 3, "bins": "auto"}}


@pytest.mark.parametrize(
    ("statistic", "smoothness"),
    [
        ({"kind": "gini_mean_difference"}, 1),
        ({"kind": "variance"}, 4),
        ({"kind": "lipschitz", "function": FUNCTION}, 0.4),
    ],
)
def test_bins_stay_open_until_their_number_is_chosen(statistic: dict[str, Any], smoothness: float) -> None:
    asked = parse_statistic(written(statistic, OPEN))
    asked.check()
    line = asked.open_bins()
    assert line is not None
    assert (line.low, line.high, line.smoothness) == (-1, 3, pytest.approx(smoothness))
    assert asked.cells is None
    with pytest.raises(WorkloadError, match="with_bins"):
        asked.build()
    chosen = asked.with_bins(5)
    assert (chosen.open_bins(), chosen.cells, chosen.build().size) == (None, 5, 5)
    assert parse_statistic(chosen.canonical()) == chosen


@pytest.mark.parametrize(
    "document",
    [
        written({"kind": "gini_diversity"}, OPEN),
        written({"kind": "lipschitz", "table": [0, 1, 2]}, OPEN),
        written({"kind": "variance", "values": [0, 1]}, OPEN),
        written({"kind": "variance", "attribute": "early"}, OPEN, EARLY),
        written(TAU | {"attributes": ["share", "early"]}, OPEN, EARLY),
    ],
)
def test_only_what_bounds_the_error_of_binning_leaves_the_bins_open(document: dict[str, Any]) -> None:
    for ask in ("check", "build"):
        with pytest.raises(WorkloadError, match="give the number of bins"):
            getattr(parse_statistic(document), ask)()


def test_users_are_taken_to_be_spread_smoothly_only_where_that_is_said() -> None:
    lines = [OPEN | {"edges": {"low": 0, "high": 1, "bins": bins}} for bins in ("auto", "auto_smooth")]
    careful, trusting = (parse_statistic(written({"kind": "variance"}, line)) for line in lines)
    assert [asked.open_bins().bias(10) for asked in (careful, trusting)] == pytest.approx([0.1, 1 / 1200], rel=1e-2)  # type: ignore[union-attr]
    assert careful.with_bins(4).build().specification == trusting.with_bins(4).build().specification


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (-1e308, 1e308)])
def test_open_bins_need_a_line(low: float, high: float) -> None:
    line = OPEN | {"edges": {"low": low, "high": high, "bins": "auto"}}
    with pytest.raises(WorkloadError, match="domain: bins need a line"):
        parse_statistic(written({"kind": "gini_mean_difference"}, line)).check()
