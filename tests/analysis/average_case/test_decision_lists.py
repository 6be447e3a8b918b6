"""Decision lists on average over databases: the same figures by brute force, and a list from reports."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.average_case import decision_lists, usefulness
from sordino_analysis.average_case.decision_lists import DecisionList, every_list, parse_list
from sordino_analysis.average_case.figures import average_case_figures
from sordino_analysis.optimisation.arrangements.margins import of_half_spaces
from sordino_analysis.optimisation.arrangements.separators import decision_list
from sordino_analysis.questions.linear.concepts.rules import lists
from sordino_shared.errors import InvalidValue


@pytest.mark.parametrize("length", [1, 2, 3])
def test_they_are_the_rules_of_the_class_of_lists(length):
    tables = {each.positive().tobytes() for each in every_list(length)}
    cubes = [np.frombuffer(table, bool).reshape((2,) * length) for table in tables]
    turned = {cube.transpose(order).tobytes() for cube in cubes for order in permutations(range(length))}
    assert turned == {rule.positive.tobytes() for rule in lists(length, negations=True, changes=None)}


def test_margins_and_separations_are_those_of_all_types():
    bits = np.array(list(product((False, True), repeat=5)))
    margins, separations = [], []
    for each in every_list(2):
        half_space = decision_list(5, [(at, int(a), int(b)) for at, a, b in each.items], int(each.otherwise))
        predicted = half_space.predicts(bits)
        margins.append(of_half_spaces(bits, [half_space]).margins(predicted[None])[0])
        apart = 2 * (bits[predicted].mean(axis=0) - bits[~predicted].mean(axis=0))
        separations.append(float(apart @ apart))
    assert decision_lists.list_margin(5, 2) == pytest.approx(min(margins), rel=1e-12)
    assert decision_lists.list_separation(2) == pytest.approx(min(separations), rel=1e-12)


def test_answers_for_each_database_take_more_than_those_to_conjunctions_and_no_more_than_each_list_by_itself():
    for length in (2, 3):
        found = decision_lists.worst_case_list_variance(10, length, 1.0)
        assert found >= usefulness.worst_case_variance(10, length, 1.0) * (1 - 1e-12)
    # Of one indicator the share of yes is ½ ± half a character: a quarter of N/t².
    assert decision_lists.worst_case_list_variance(10, 1, 1.0) == pytest.approx(10 / 4 / math.tanh(0.5) ** 2)


@pytest.mark.parametrize(
    ("length", "indicators", "gain"),
    [(2, 5, 1.0), (3, 16, 1.0), (4, 4, 1.1936), (4, 8, 1.1172), (4, 16, 1.0635), (4, 32, 1.0308)],
)
def test_answers_for_each_database_have_the_least_worst_variance_of_any_chances(length, indicators, gain):
    """Against the dual: no chances have less than (Σ_j √(Σ_l ρ_l c_lj))² for any weights ρ of the lists.

    `gain` is how much more the largest squares of each size come to, as if one list had them all.
    """
    by_size = []
    for each in every_list(length):
        table, sizes = each.positive().reshape((2,) * length), np.indices((2,) * length).sum(axis=0).ravel()
        squares = np.abs(np.fft.fftn(table).ravel() / table.size) ** 2
        by_size.append([math.comb(indicators, size) * squares[sizes == size].sum() for size in range(1, length + 1)])
    costs = np.unique(np.round(by_size, 12), axis=0)
    weights = np.full(len(costs), 1 / len(costs))
    for _ in range(2000):
        # Each list's variance under the chances that are best for the weights.
        shares = np.sqrt(weights @ costs)
        weights *= np.sqrt((costs / shares).sum(axis=1) * shares.sum())
        weights /= weights.sum()
    least = np.sqrt(weights @ costs).sum() ** 2 / math.tanh(0.5) ** 2
    found = decision_lists.worst_case_list_variance(indicators, length, 1.0)
    assert least * (1 - 1e-9) <= found <= least * (1 + 1e-6)
    separately = np.sqrt(costs.max(axis=0)).sum() ** 2 / math.tanh(0.5) ** 2
    assert separately / found == pytest.approx(gain, abs=5e-5)


SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in "abcdef"]
LISTS = {"class": "lists", "length": 3, "scheme": "arrangement"}


@pytest.fixture(scope="module")
def run():
    even = [tuple("on" if number >> place & 1 else "off" for place in range(6)) for number in range(64)] * 1000
    return sa.simulate(
        sa.plan(sa.workload({"name": "l", "domain": SWITCHES, "queries": LISTS}), epsilon=2), even, seed=3
    )


def test_a_plan_of_single_indicators_answers_a_list(run):
    """No if a is on (1/2), else yes if b is off (1/4), else yes if c is on (1/8): 3/8 of an even database."""
    found = sa.rule_on_average(run.plan, run.aggregate, "a:on=no,b:off=yes,c:on=yes,else=no")
    assert abs(found.value - 3 / 8) < 6 * found.standard_error < 0.2
    assert found.validity == "average_case"
    figures = average_case_figures("lists", 6, 3, 2.0)
    # The worst list has no larger error than the plan says.
    assert found.standard_error**2 * 64_000 < 1.01 * figures.variance
    assert figures.lemma_users > figures.margin_users > figures.laplace_users > figures.strong_users


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("a:on=yes,b:off=no", "a list ends with what it says else"),
        ("a:on,b:off,else=yes", "'a:on' has no answer"),
        ("else=yes", "a list ends with"),
        ("a:on=yes,z:on=no,c:on=yes,else=no", "no attribute 'z'"),
        ("a:on=yes,a:off=no,c:on=yes,else=no", "asks each variable once|at each of them once"),
        ("a:on=yes,b:on=no,else=yes", "lists of 3 indicators, and the rule has 2"),
        ("a:on=yes,b:on=yes,c:on=yes,else=yes", "no two classes"),
        ({"a": True}, "give one as text"),
    ],
)
def test_lists_that_cannot_be_are_refused(run, rule, words):
    with pytest.raises((InvalidValue, sa.WorkloadError), match=words):
        sa.rule_on_average(run.plan, run.aggregate, rule)


def test_lists_have_a_length_and_no_width():
    for queries in (LISTS | {"width": 3}, {"class": "lists", "width": 3, "scheme": "arrangement"}):
        with pytest.raises(sa.WorkloadError, match="lists have a `length`"):
            sa.workload({"name": "l", "domain": SWITCHES, "queries": queries})
    with pytest.raises(sa.WorkloadError, match="length"):
        sa.workload({"name": "l", "domain": SWITCHES, "queries": LISTS | {"length": 5}})
    assert parse_list("a:on=yes,else=no") == ([("a:on", True)], False)
    assert DecisionList(((0, True, True),), False).positive().tolist() == [False, True]
