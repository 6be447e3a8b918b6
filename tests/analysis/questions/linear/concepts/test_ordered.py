"""Losses of thresholds, intervals and boxes against rules written out by hand, their names, what is refused."""

from itertools import product

import numpy as np
import pytest

from sordino_analysis.questions.linear import WorkloadError, parse_specification
from sordino_analysis.questions.linear.building import build_workload

CRASHED = {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]}
AGE = {"name": "age", "kind": "ordinal", "edges": [18, 30, 65], "unit": "y"}
SCREENS = {"name": "screens", "kind": "integers", "low": 1, "high": 3}
THEME = {"name": "theme", "kind": "categorical", "labels": ["light", "dark"]}


def crashes(*attributes, **queries):
    asked = {"class": "thresholds", "label": {"attribute": "crashed", "positive": "yes"}} | queries
    return parse_specification({"name": "w", "domain": [CRASHED, *attributes], "queries": asked})


def by_hand(predict, *sizes, cost=(1.0, 1.0)):
    """The loss of a rule at every cell of the attributes and then the label."""
    losses = []
    for *x, y in product(*map(range, sizes), (0, 1)):
        positive = predict(*x)
        losses.append(cost[0] if y and not positive else cost[1] if positive and not y else 0.0)
    return losses


def test_thresholds_say_yes_up_to_an_edge_or_above_it():
    workload = crashes(AGE).build()
    found = dict(zip(workload.labels(), workload.operator.dense().tolist(), strict=True))
    cuts = ["age ≤ 18 y", "age ≤ 30 y", "age ≤ 65 y", "age > 18 y", "age > 30 y", "age > 65 y"]
    assert list(found) == ["never", "always", *cuts]
    for cut, bins in enumerate((1, 2, 3)):
        assert found[cuts[cut]] == by_hand(lambda x, bins=bins: x < bins, 4)
        assert found[cuts[3 + cut]] == by_hand(lambda x, bins=bins: x >= bins, 4)
    assert found["never"] == by_hand(lambda x: False, 4)
    assert found["always"] == by_hand(lambda x: True, 4)


def test_intervals_are_all_runs_of_bins_and_the_positive_member_is_the_one_that_is_said():
    turned = {"label": {"attribute": "crashed", "positive": "no"}, "cost": {"miss": 5.0}}
    workload = crashes(AGE, **{"class": "intervals"}, **turned).build()
    found = dict(zip(workload.labels(), workload.operator.dense().tolist(), strict=True))
    assert len(found) == 2 + 4 * 5 // 2 - 1
    expected = np.array(by_hand(lambda x: x in (1, 2), 4, cost=(5.0, 1.0))).reshape(4, 2)[:, ::-1]
    assert found["18 < age ≤ 65 y"] == expected.ravel().tolist()


def test_boxes_are_products_of_runs_and_leave_out_the_one_that_holds_everybody():
    workload = crashes(AGE, SCREENS, **{"class": "boxes"}).build()
    found = dict(zip(workload.labels(), workload.operator.dense().tolist(), strict=True))
    assert workload.queries == len(found) == 1 + 10 * 6
    assert len(np.unique(workload.operator.dense(), axis=0)) == 61
    assert found["age > 30 y and screens ≤ 2"] == by_hand(lambda x, z: x >= 2 and z < 2, 4, 3)
    assert found["screens > 2"] == by_hand(lambda x, z: z == 2, 4, 3)


def test_who_has_no_place_in_the_order_is_in_no_side_but_the_free_one():
    workload = crashes(AGE | {"missing": True}, SCREENS, **{"class": "boxes"}).build()
    found = dict(zip(workload.labels(), workload.operator.dense().tolist(), strict=True))
    assert workload.queries == len(found) == 1 + 11 * 6
    assert found["age in any bin"] == by_hand(lambda x, z: x < 4, 5, 3)
    assert found["screens > 1"] == by_hand(lambda x, z: z > 0, 5, 3)
    one = crashes(AGE | {"missing": True}).build()
    assert one.labels() == [
        *("never", "always", "age ≤ 18 y", "age ≤ 30 y", "age ≤ 65 y", "age in any bin"),
        *("age > 18 y", "age > 30 y", "age > 65 y"),
    ]


def test_other_attributes_are_not_asked_and_a_label_may_be_a_range():
    asked = crashes(AGE, SCREENS, THEME, over=["age"], label={"attribute": "screens", "from": 2})
    workload = asked.build()
    assert workload.domain.shape == (4, 2)
    assert workload.operator.dense()[2].tolist() == by_hand(lambda x: x < 1, 4)
    again = build_workload(workload.domain, workload.published, workload.name)
    assert np.array_equal(again.operator.dense(), workload.operator.dense())
    assert again.labels() == workload.labels()
    assert parse_specification(asked.canonical()) == asked


@pytest.mark.parametrize(
    ("attributes", "queries", "words"),
    [
        ([AGE, SCREENS], {}, "about one attribute: say which of age, screens"),
        ([THEME], {}, "no ordered attribute besides the label"),
        ([AGE, THEME], {"over": ["theme"]}, "has no order: thresholds need one"),
        ([AGE], {"over": ["height"]}, "no attribute 'height'"),
        ([AGE], {"over": ["crashed"]}, "names the label"),
        ([AGE], {"over": ["age", "age"]}, "twice"),
        ([AGE], {"over": []}, "no ordered attribute besides the label"),
        ([AGE], {"over": [{"attribute": "age", "from": 18}]}, "give its name alone"),
        ([AGE], {"width": 1}, "thresholds have no `width`: leave it out"),
        ([AGE], {"length": 1}, "no `length`"),
        ([AGE], {"changes": 1}, "no `changes`"),
        ([AGE], {"negations": False}, "no `negations`"),
        ([AGE], {"exactly": True}, "no `exactly`"),
        ([AGE], {"class": "stumps"}, "class"),
        ([AGE], {"cost": {"miss": 2e6}}, "1e\\+06"),
        ([AGE], {"cost": {"miss": 0}}, "greater than 0"),
        ([{"name": "n", "kind": "integers", "low": 0, "high": 999}], {"class": "intervals"}, "use wider bins"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(attributes, queries, words):
    with pytest.raises(WorkloadError, match=words):
        crashes(*attributes, **queries).build()
