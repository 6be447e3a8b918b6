"""What a plan with `scheme: arrangement` says, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.average_case import figures, usefulness
from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.requests import request_for
from sordino_shared.errors import InvalidValue

SWITCHES = [{"name": f"a{number}", "kind": "categorical", "labels": ["off", "on"]} for number in range(16)]


def compiled(epsilon=1, mechanism=None, **queries):
    fields = {"class": "conjunctions", "width": 3, "scheme": "arrangement"} | queries
    written = {"name": "w", "domain": SWITCHES, "queries": fields}
    return request_for(parse_question(written), PlanningOptions.of(epsilon=epsilon, mechanism=mechanism)).compile()


def test_the_plan_says_users_on_average_and_for_each_database():
    found = compiled().summary.average_case
    assert (found.strong_users, found.weak_users, found.worst_case_users) == (29_382, 207, 276_213)
    assert found.least_users_of_paper < found.least_users < found.weak_users
    assert found.lemma_users > found.margin_users > found.laplace_users > found.strong_users


def test_parities_are_refused_with_forsters_bound_and_users():
    with pytest.raises(InvalidValue, match=r"bound of 696 parities is 26\.38.*fewer than 4,016 users"):
        compiled(**{"class": "parities"})


def test_it_is_refused_where_an_answer_for_each_database_needs_no_more_users():
    with pytest.raises(InvalidValue, match="ask for marginals"):
        compiled(width=1)


@pytest.mark.parametrize("share", [1 / 8, 3 / 8, 1 / 2, 7 / 8])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_variance_of_randomised_response_is_that_of_its_matrix(epsilon, share):
    """Over 8 cells, for every share of users of whom the rule says yes."""
    kernel = (np.ones((8, 8)) + np.expm1(epsilon) * np.eye(8)) / (np.expm1(epsilon) + 8)
    rule = np.arange(8) < 8 * share
    weights = np.linalg.solve(kernel, rule)
    held = np.linspace(0, 1, 2001)[:, None]
    reports = (held * rule / rule.sum() + (1 - held) * ~rule / (~rule).sum()) @ kernel
    variances = reports @ weights**2 - (reports @ weights) ** 2
    assert usefulness.response_variance(3, share, epsilon) == pytest.approx(variances.max(), rel=1e-5)


@pytest.mark.parametrize(("family", "width", "epsilon"), [("lists", 3, 2.0), ("conjunctions", 2, 2.0)])
def test_at_a_large_epsilon_randomised_response_answers_for_each_database(family, width, epsilon):
    """A random character of three indicators tells less there than all three, randomised as one of 8 cells."""
    assert figures.average_case_figures(family, 3, width, 1.0).worst_case_users > 7000
    with pytest.raises(InvalidValue, match="ask for marginals"):
        figures.average_case_figures(family, 3, width, epsilon)


def test_other_mechanisms_are_refused():
    with pytest.raises(PlanError, match="leave it open"):
        compiled(mechanism="factorization")


def test_rules_of_two_widths_have_plans_of_their_own():
    def digest(width):
        fields = {"class": "conjunctions", "width": width, "scheme": "arrangement"}
        written = {"name": "w", "domain": SWITCHES, "queries": fields}
        return request_for(parse_question(written), PlanningOptions.of(epsilon=1)).digest

    assert digest(2) != digest(3)
