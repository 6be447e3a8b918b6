"""The candidate is near the exact optimum in integers, and applies where it says."""

import pytest

from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin


class TestColumnGeneration:
    @pytest.mark.parametrize(("kind", "epsilon"), [("prefix", "1"), ("ranges", "2"), ("prefix", "4")])
    def test_the_shipped_integers_are_near_the_optimum(self, plan_of, exact_optimum, small_matrix, kind, epsilon):
        plan = plan_of(kind, 8, epsilon, "mean", "column_generation")
        exact = exact_optimum(small_matrix(kind, 8), float(epsilon), "mean")
        assert exact * (1 - 1e-5) <= plan.analyst.figures.mean_variance <= exact * 1.003
        assert plan.analyst.figures.bias_bound < 1e-9

    def test_it_is_chosen_over_the_joint_search_where_that_stops_short(self, plan_of):
        plan = plan_of("prefix", 12, "4", "mean")
        found = {report.name: report.figures for report in plan.candidates if report.applies}
        assert plan.analyst.figures.mean_variance <= found["column_generation"].mean_variance * (1 + 1e-8)
        assert found["column_generation"].mean_variance <= found["hyperplane_codebook"].mean_variance

    def test_the_maximum_and_many_types_are_refused_in_words(self):
        for size, objective, reason in ((8, "max", "mean variance only"), (200, "mean", "at most 128")):
            with pytest.raises(PlanError, match=reason):
                compile_plan(
                    PlanRequest(
                        builtin("prefix", size),
                        PlanningOptions.of(epsilon=1, objective=objective, mechanism="column_generation"),
                    )
                )
