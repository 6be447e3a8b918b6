"""The approximate factorization: exact bias and variance, chosen where users are few and never unless stated."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.vectorized.arrays import array_of, ndarray

NAME, EXACT = "approximate_factorization", "factorization"


def squared_error(plan, users):
    figures = plan.analyst.figures
    variance = figures.max_variance if plan.request.options.objective == "max" else figures.mean_variance
    return variance / users + figures.bias_bound**2


class TestApproximateFactorization:
    @pytest.mark.parametrize("objective", ["max", "mean"])
    def test_its_bias_is_the_distance_of_its_factors_from_the_queries(self, plan_of, objective):
        plan = plan_of("prefix", 24, "1", objective, NAME, users=60)
        factors, matrix = plan.analyst.factors, plan.request.workload.operator.dense()
        left, right, centre = (ndarray(a) for a in (factors.left, factors.right, factors.centre))
        distance = np.abs(left.T @ right + centre[:, None] - matrix).max()
        assert distance > 0.1
        # Besides, directions of finitely many atoms state a bias of their own, below a thousandth.
        assert distance <= plan.analyst.figures.bias_bound <= distance + 2e-3

    def test_mean_squared_errors_by_enumeration_are_within_what_is_published(self, plan_of):
        """E (answer − W_qx)² for one user of type x, from the second moments of a uniform direction."""
        plan = plan_of("prefix", 9, "1", "max", NAME, users=40)
        law, decoder = plan.device.randomizer, plan.analyst.decoder
        vectors = ndarray(law.vectors).astype(float)
        rows, offset = ndarray(decoder.matrix), ndarray(decoder.offset)
        kept = 2 * ndarray(law.keep_weights) / 2.0**law.bits - 1
        draws = np.random.default_rng(1).standard_normal((200_000, law.dimension))
        draws /= np.linalg.norm(draws, axis=1, keepdims=True)
        for holder in (0, 4, 8):
            signs = np.where(draws @ vectors[holder] >= 0, 1.0, -1.0)
            # Means and second moments over the coin are exact; over directions 200 000 draws, 1 % in all.
            mean = (kept[holder] * signs[:, None] * draws).mean(axis=0)
            answers = rows @ mean + offset
            assert np.abs(answers - plan.request.workload.operator.dense()[:, holder]).max() <= (
                plan.analyst.figures.bias_bound + 0.03
            )
            variance = (rows**2).sum(axis=1) / law.dimension - (rows @ mean) ** 2
            assert variance.max() <= plan.analyst.figures.max_variance * 1.01

    @pytest.mark.parametrize("objective", ["max", "mean"])
    def test_with_few_users_it_has_less_error_than_the_exact_factors(self, plan_of, objective):
        errors = [squared_error(plan_of("prefix", 24, "1", objective, name, users=60), 60) for name in (NAME, EXACT)]
        assert errors[0] < 0.6 * errors[1]

    def test_it_is_chosen_where_users_are_few_and_not_where_they_are_many(self, plan_of):
        def request(users):
            return PlanRequest(
                builtin("prefix", 16), PlanningOptions.of(epsilon="0.5", objective="max", users=users, effort="quick")
            )

        assert compile_plan(request(50)).analyst.mechanism == NAME
        assert compile_plan(request(10**5)).analyst.mechanism != NAME

    def test_an_auditor_agrees_and_sees_factors_of_something_else(self, plan_of):
        plan = plan_of("prefix", 12, "1", "max", NAME, users=60)
        assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
        moved = array_of(ndarray(plan.analyst.factors.centre) + plan.analyst.figures.bias_bound, "<f8")
        wrong = replace(plan.analyst, factors=replace(plan.analyst.factors, centre=moved))
        assert [check.name for check in audit_plan(plan.device, wrong) if not check.holds] == ["factors"]

    def test_without_users_it_is_not_compared_and_says_why(self):
        with pytest.raises(PlanError, match="stated number of users only"):
            compile_plan(
                PlanRequest(builtin("prefix", 9), PlanningOptions.of(epsilon=1, objective="max", mechanism=NAME))
            )

    def test_where_no_bias_pays_it_says_so(self):
        with pytest.raises(PlanError, match="worth its bias"):
            compile_plan(
                PlanRequest(
                    builtin("prefix", 9), PlanningOptions.of(epsilon=1, objective="max", mechanism=NAME, users=10**9)
                )
            )

    def test_too_many_types_are_refused_with_the_limit(self):
        with pytest.raises(PlanError, match="at most 256 types"):
            compile_plan(
                PlanRequest(
                    builtin("prefix", 300), PlanningOptions.of(epsilon=1, objective="max", mechanism=NAME, users=10)
                )
            )
