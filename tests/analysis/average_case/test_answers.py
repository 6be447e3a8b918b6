"""One known rule on average over databases: users, answers, and the test of what they assume."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.average_case import usefulness
from sordino_analysis.average_case.answers import average_case_answer
from sordino_analysis.average_case.rule_classes import Literals, means_of_table, sampled_means
from sordino_analysis.optimisation.arrangements.margins import of_half_spaces
from sordino_analysis.optimisation.arrangements.separators import monomial
from sordino_shared.errors import InvalidValue

RULE = Literals(16, ((0, True), (1, True), (2, True)))
SPREAD = usefulness.one_attribute_variance(16, 1.0, 1.0)


def noisy_means(rng, signs):
    """Means of ±1 indicators as reports about a random one of them tell them, by the exact variances."""
    return signs.mean(axis=0) + rng.standard_normal(16) * np.sqrt(SPREAD / len(signs))


def even_database(rng, users, share):
    """(n, 16) signs: drawn evenly from the yes class with the chance `share`, else from the no class."""
    signs = rng.choice([-1.0, 1.0], size=(users, 16))
    yes = rng.random(users) < share
    cells = np.array([cell for cell in product((-1.0, 1.0), repeat=3) if min(cell) < 0])
    signs[:, :3] = np.where(yes[:, None], 1.0, cells[rng.integers(len(cells), size=users)])
    return signs


def test_even_databases_are_answered_and_seldom_refused():
    """400 databases of 20,000 users. Errors within 5 standard errors of their mean and size; 1 % of p-values below .01.

    The bound of 14 refusals is passed by chance with a probability below 10⁻⁴; an unweighted test fails it.
    """
    rng, answers = np.random.default_rng(5), []
    for _ in range(400):
        means = noisy_means(rng, even_database(rng, 20_000, 0.3))
        answers.append(average_case_answer(means, np.full(16, SPREAD / 20_000), RULE.means(), 20_000))
    errors = np.array([found.value for found in answers]) - 0.3
    # Drawing the users adds a little to the noise.
    predicted = answers[0].standard_error
    assert abs(errors.mean()) < 5 * predicted / 20
    assert errors.std() == pytest.approx(predicted, rel=0.2)
    assert sum(found.interval is None for found in answers) <= 14
    assert sum(0.45 < found.p_value < 0.55 for found in answers) > 15


def test_uneven_databases_carry_the_sentence_and_mostly_no_interval():
    """The indicator behind the rule's goes with the yes class: its mean gives the database away."""
    rng, users = np.random.default_rng(6), 100_000
    signs = even_database(rng, users, 0.3)
    signs[:, 3] = np.where((signs[:, :3] > 0).all(axis=1), 1.0, signs[:, 3])
    found = average_case_answer(noisy_means(rng, signs), np.full(16, SPREAD / users), RULE.means(), users)
    assert found.interval is None
    assert found.p_value < 1e-6
    assert found.validity == "average_case"
    assert "cannot show" in found.sentence


def test_balanced_margins_hide_an_uneven_database_from_every_such_test():
    """All three on or all three off, half each: every mean is 0, and the estimate is 1/8, far from the truth of 1/2."""
    rng, users = np.random.default_rng(7), 100_000
    signs = rng.choice([-1.0, 1.0], size=(users, 16))
    signs[:, 1] = signs[:, 2] = signs[:, 0]
    found = average_case_answer(noisy_means(rng, signs), np.full(16, SPREAD / users), RULE.means(), users)
    assert abs(found.value - 1 / 8) < 6 * found.standard_error
    assert 1 / 2 - found.value > 10 * found.standard_error


def test_class_means_are_those_of_all_cells():
    cells = np.array(list(product((-1.0, 1.0), repeat=3)))
    for literals, positive in (
        (Literals(3, ((0, True), (2, False))), (cells[:, 0] > 0) & (cells[:, 2] < 0)),
        (Literals(3, ((1, True), (2, False)), any_holds=True), (cells[:, 1] > 0) | (cells[:, 2] < 0)),
    ):
        table = means_of_table(positive, (0, 1, 2), 3)
        assert literals.means().positive == pytest.approx(table.positive)
        assert literals.means().negative == pytest.approx(table.negative)
    drawn = np.random.default_rng(8).choice([-1.0, 1.0], size=(20_000, 3))
    found = sampled_means(drawn, (drawn[:, 0] > 0) & (drawn[:, 2] < 0), 1e-6)
    exact = Literals(3, ((0, True), (2, False))).means()
    assert abs(found.positive - exact.positive).max() < found.error < 0.1
    assert found.separation < exact.separation


def test_users_are_those_of_the_design():
    """Closed forms beside the figures of the page, and the true margin by all types."""
    separation = RULE.means().separation
    assert usefulness.strong_users(usefulness.one_attribute_variance(16, separation, 1), 0.05, 0.05) == 29_382
    assert usefulness.strong_users(usefulness.worst_case_variance(16, 3, 1), 0.05, 0.05) == 276_213
    bits = np.array(list(product((False, True), repeat=6)))
    half_space = monomial([1, 1, None, None, None, None])
    arrangement = of_half_spaces(bits, [half_space])
    assert usefulness.conjunction_margin(6, 2) == pytest.approx(
        arrangement.margins(half_space.predicts(bits)[None])[0], rel=1e-12
    )
    assert usefulness.lemma_users(8, 1, 0.05, 0.05) > 10 * usefulness.margin_users(8, 3, 1, 0.05, 0.05)
    with pytest.raises(InvalidValue, match="between 0 and 1/2"):
        usefulness.strong_users(1.0, 0.6, 0.05)


SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in "abcdef"]


def asked(**queries):
    fields = {"class": "conjunctions", "width": 3, "scheme": "arrangement"} | queries
    return sa.workload({"name": "all three", "domain": SWITCHES, "queries": fields})


def test_a_plan_of_single_indicators_answers_one_rule():
    """At 64,000 users the standard error is .006; six of it allow one false alarm in 5·10^8."""
    even = [tuple("on" if number >> place & 1 else "off" for place in range(6)) for number in range(64)] * 1000
    run = sa.simulate(sa.plan(asked(), epsilon=2), even, seed=3)
    found = sa.rule_on_average(run.plan, run.aggregate, {"a": True, "c": True, "f": False})
    assert abs(found.value - 1 / 8) < 6 * found.standard_error < 0.1
    with pytest.raises(InvalidValue, match="conjunctions of 3 indicators, and the rule has 1"):
        sa.rule_on_average(run.plan, run.aggregate, {"a": True})
    clauses = sa.simulate(sa.plan(asked(**{"class": "clauses", "width": 2}), epsilon=2), even, seed=3)
    either = sa.rule_on_average(clauses.plan, clauses.aggregate, {"a": True, "c": False})
    assert abs(either.value - 3 / 4) < 6 * either.standard_error < 0.1
    with pytest.raises(InvalidValue, match="there is no indicator 'z'"):
        sa.rule_on_average(run.plan, run.aggregate, {"z": True})


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        ({"width": 7}, "6 indicators"),
        ({"width": 0}, "width"),
        ({"class": "boxes"}, "class"),
        ({"label": {"attribute": "a", "positive": "on"}}, "label"),
        ({"over": ["a", "a", "b"]}, "twice"),
    ],
)
def test_arrangements_that_cannot_be_are_refused(queries, words):
    with pytest.raises(sa.WorkloadError, match=words):
        asked(**queries)
