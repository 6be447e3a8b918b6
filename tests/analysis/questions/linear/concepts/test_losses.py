"""Losses of every class against rules that are written out by hand, their order, their names, what is refused."""

from itertools import combinations, product

import numpy as np
import pytest

from sordino_analysis.optimisation.symmetry.odd_characters import odd_under_a_shift
from sordino_analysis.questions.linear import WorkloadError, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.errors import InvalidValue


def crashes(indicators=3, labels=("no", "yes"), positive="yes", name="crashed", **queries):
    domain = [{"name": name, "kind": "categorical", "labels": list(labels)}]
    domain += [{"name": f"a{number}", "kind": "categorical", "labels": ["off", "on"]} for number in range(indicators)]
    asked = {"class": "conjunctions", "width": 2, "label": {"attribute": name, "positive": positive}} | queries
    asked = {key: value for key, value in asked.items() if value is not None}
    return parse_specification({"name": "what crashes", "domain": domain, "queries": asked})


def by_hand(predict, cost=(1.0, 1.0), indicators=3):
    """The loss of a rule at every cell of the indicators and then the label."""
    losses = []
    for *x, y in product((0, 1), repeat=indicators + 1):
        positive = predict(x)
        losses.append(cost[0] if y and not positive else cost[1] if positive and not y else 0.0)
    return losses


def conjunction(support, signs):
    return lambda x: all(x[a] == sign for a, sign in zip(support, signs, strict=True))


def test_conjunctions_are_all_sets_of_literals_with_never_and_always():
    workload = crashes().build()
    expected = [by_hand(lambda x: False), by_hand(lambda x: True)]
    for width in (1, 2):
        for support in combinations(range(3), width):
            expected += [by_hand(conjunction(support, signs)) for signs in product((1, 0), repeat=width)]
    assert np.allclose(workload.operator.dense(), expected, atol=1e-12)
    assert workload.labels()[:4] == ["never", "always", "a0=on", "a0=off"]
    assert "a0=on and a2=off" in workload.labels()
    assert workload.domain.attributes[-1].name == "crashed"


@pytest.mark.parametrize("indicators", [4, 8])
def test_the_number_of_rules_is_that_of_the_formula(indicators):
    assert crashes(indicators).build().queries == 2 + 2 * indicators + 2 * indicators * (indicators - 1)


def test_clauses_parities_and_exact_widths():
    clauses = crashes(**{"class": "clauses"}, width=2, exactly=True, negations=False).build()
    found = dict(zip(clauses.labels(), clauses.operator.dense(), strict=True))
    assert list(found) == ["never", "always", "a0=on or a1=on", "a0=on or a2=on", "a1=on or a2=on"]
    assert np.allclose(found["a0=on or a2=on"], by_hand(lambda x: x[0] or x[2]))
    parities = crashes(**{"class": "parities"}, width=3, exactly=True).build()
    assert np.allclose(parities.operator.dense()[2], by_hand(lambda x: sum(x) % 2))
    assert np.allclose(parities.operator.dense()[3], by_hand(lambda x: not sum(x) % 2))


def test_juntas_are_all_functions_and_lists_those_that_some_list_computes():
    juntas = crashes(**{"class": "juntas"}).build()
    # Of the 16 functions of two attributes 10 depend on both, 2 on each alone, and 2 are constant.
    assert juntas.queries == 2 + 3 * 2 + 3 * 10
    assert len(np.unique(np.round(juntas.operator.dense(), 9), axis=0)) == juntas.queries
    lists = crashes(**{"class": "lists"}, width=None, length=2).build()
    # Neither parity nor its opposite is a decision list.
    assert lists.queries == 2 + 3 * 2 + 3 * 8
    row = next(row for row, text in enumerate(lists.labels()) if text == "if a0=on yes, else if a1=on no, else yes")
    assert np.allclose(lists.operator.dense()[row], by_hand(lambda x: x[0] or not x[1]))
    few = crashes(**{"class": "lists"}, width=None, length=2, changes=1).build()
    assert few.queries == lists.queries
    assert "never" in few.labels()


def test_costs_and_the_positive_member():
    workload = crashes(cost={"miss": 5, "false_alarm": 1}).build()
    assert np.allclose(workload.operator.dense()[2], by_hand(lambda x: x[0], cost=(5.0, 1.0)))
    assert not odd_under_a_shift(workload.operator)
    turned = crashes(labels=("yes", "no")).build()
    assert np.allclose(turned.operator.dense()[2], [1 - loss for loss in by_hand(lambda x: x[0])])


@pytest.mark.parametrize(
    ("queries", "invariant"),
    [
        ({}, True),
        ({"negations": False}, False),
        ({"class": "juntas"}, True),
        ({"class": "clauses"}, True),
        ({"class": "parities", "negations": False}, True),
        ({"class": "parities", "negations": False, "cost": {"miss": 2.0}}, False),
    ],
)
def test_turning_an_indicator_over_permutes_the_rules_or_it_is_said(queries, invariant):
    operator = crashes(**queries).build().operator
    assert operator.invariant == invariant
    rows = {tuple(row) for row in np.round(operator.dense() - 0.5, 9)}
    turned = np.round(operator.dense() - 0.5, 9)[:, np.arange(16) ^ 8]
    closed = all(tuple(row) in rows or tuple(-row) in rows for row in turned)
    assert closed == invariant or not odd_under_a_shift(operator)


def test_a_published_class_is_rebuilt_and_its_written_form_is_read_again():
    specification = crashes(cost={"miss": 5.0}, over=["a2", "a0"])
    workload = specification.build()
    assert [attribute.name for attribute in workload.domain.attributes] == ["a2", "a0", "crashed"]
    again = build_workload(workload.domain, workload.published, workload.name)
    assert np.array_equal(again.operator.dense(), workload.operator.dense())
    assert again.labels() == workload.labels()
    assert parse_specification(specification.canonical()) == specification


def test_an_attribute_may_be_called_class_or_label():
    domain = [{"name": name, "kind": "categorical", "labels": ["a", "b"]} for name in ("class", "label")]
    asked = {"name": "x", "domain": domain, "queries": {"class": "histogram", "label": "total"}}
    assert parse_specification(asked).build().queries == 2


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        ({"label": None}, "label"),
        ({"label": {"attribute": "a", "positive": "yes"}}, "no attribute 'a'"),
        ({"positive": "maybe"}, "has the members no and yes, not 'maybe'"),
        ({"labels": ("no", "yes", "?")}, "the label 'crashed' has 3 members"),
        ({"over": ["a0", "crashed"]}, "names the label"),
        ({"over": ["a0", "a0"]}, "twice"),
        ({"over": ["b"]}, "no attribute 'b'"),
        ({"over": []}, "at least one"),
        ({"width": 0}, "1 to 3"),
        ({"width": 4}, "1 to 3"),
        ({"width": 9, "indicators": 12}, "1 to 8"),
        ({"width": 4, "class": "juntas", "indicators": 5}, "1 to 3"),
        ({"width": None}, "`width`"),
        ({"class": "lists"}, "`length`"),
        ({"class": "juntas", "negations": False}, "leave `negations` out"),
        ({"changes": 1}, "decision lists only"),
        ({"width": 6, "indicators": 30}, "the largest width that fits is 4"),
        ({"cost": {"miss": -1}}, "greater than 0"),
        ({"cost": {"miss": 0}}, "greater than 0"),
        ({"cost": {"miss": float("nan")}}, "finite"),
        ({"cost": {"miss": 2e6}}, "1e\\+06"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(queries, words):
    with pytest.raises(WorkloadError, match=words):
        crashes(**queries).build()


def test_attributes_of_three_members_are_refused_unless_left_out():
    domain = [
        {"name": "os", "kind": "categorical", "labels": ["a", "b"], "missing": True},
        {"name": "wifi", "kind": "categorical", "labels": ["off", "on"]},
        {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]},
    ]
    asked = {"class": "conjunctions", "width": 1, "label": {"attribute": "crashed", "positive": "yes"}}
    with pytest.raises(WorkloadError, match="'os' has 3 members"):
        parse_specification({"name": "x", "domain": domain, "queries": asked}).build()
    assert parse_specification({"name": "x", "domain": domain, "queries": asked | {"over": ["wifi"]}}).build().size == 4


FLIGHTS = [
    {"name": "carrier", "kind": "categorical", "labels": ["EV", "B6", "UA"], "other": True},
    {"name": "hour", "kind": "integers", "low": 0, "high": 23},
    {"name": "delay", "kind": "ordinal", "edges": [0.0, 30.0, 60.0]},
]


def flights(over, label=None, **queries):
    asked = {"class": "conjunctions", "width": 2, "over": over, "label": label or {"attribute": "delay", "from": 30}}
    return parse_specification({"name": "late", "domain": FLIGHTS, "queries": asked | queries})


def test_members_and_ranges_of_attributes_of_any_size_are_indicators():
    specification = flights([{"attribute": "carrier", "members": ["EV", "other"]}, {"attribute": "hour", "from": 15}])
    workload = specification.build()
    assert [a.name for a in workload.domain.attributes] == ["carrier=EV", "carrier=other", "hour > 14", "delay > 30"]
    assert workload.domain.codes({"carrier": "EV", "hour": 15, "delay": 30.0}) == [1, 0, 1, 0]
    assert workload.domain.codes({"carrier": "AA", "hour": 14, "delay": 31.0}) == [0, 1, 0, 1]
    assert "carrier=EV and not hour > 14" in workload.labels()
    assert parse_specification(specification.canonical()) == specification
    with pytest.raises(InvalidValue, match="carrier"):
        workload.domain.check_shape({"carrier=EV": 1})


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (["carrier"], "list the members to test for"),
        ([{"attribute": "carrier", "members": ["DL"]}], "no member 'DL'; it has EV, B6, UA, other"),
        ([{"attribute": "carrier", "members": []}], "not both"),
        ([{"attribute": "carrier", "from": 1}], "no order"),
        ([{"attribute": "hour", "from": 24}], "0 to 23, not 24"),
        ([{"attribute": "hour", "from": 1.5}], "not 1.5"),
        ([{"attribute": "hour", "from": 9, "to": 8}], "no member"),
        ([{"attribute": "hour", "from": 0}], "every value"),
        ([{"attribute": "hour", "from": 3}, {"attribute": "hour", "from": 3}], "twice"),
        ([{"attribute": "delay", "from": 0}], "names the label"),
    ],
)
def test_indicators_that_do_not_fit_are_refused(over, words):
    with pytest.raises(WorkloadError, match=words):
        flights(over).build()


def test_labels_of_ranges_end_at_edges_and_are_given_once():
    over = [{"attribute": "hour", "from": 15}]
    with pytest.raises(WorkloadError, match="45 is no edge"):
        flights(over, {"attribute": "delay", "from": 45}).build()
    with pytest.raises(WorkloadError, match="not both"):
        flights(over, {"attribute": "delay", "from": 30, "positive": "x"}).build()
    with pytest.raises(WorkloadError, match="a range with `from` and `to`"):
        flights(over, {"attribute": "delay"}).build()
