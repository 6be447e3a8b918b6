"""The planner: what it chooses, what it refuses, what it promises about the bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.certificate import SomeTypesBound
from sordino_analysis.evaluation.accumulator_moments import response_moments
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.mechanisms import mechanism as base
from sordino_analysis.mechanisms import registry
from sordino_analysis.mechanisms.factorization import FactorizationMechanism
from sordino_analysis.mechanisms.randomized_response import inverse_decoder
from sordino_analysis.mechanisms.registry import MECHANISMS, mechanism_names
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionMechanism
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import GuaranteeNotMet, InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import RandomizedResponse

ONE = PureEpsilon.of(1)
SUMMARY = {
    "workload", "k", "queries", "epsilon", "objective", "mechanism", "max_variance", "mean_variance", "bias_bound",
    "largest_variance",
    "lower_bound_max", "lower_bound_mean", "ratio_max", "ratio_mean", "outputs", "device_bytes", "device_memory",
    "analyst_bytes", "digests", "seconds", "cut_short", "candidates", "manipulation", "drawn_manipulation",
    "warnings", "crowd",
}  # fmt: skip


SMALL_QUESTIONS = given(
    st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 5), st.sampled_from(["0.1", "1", "3"])
)


@settings(max_examples=3, deadline=None)
@SMALL_QUESTIONS
def test_no_unbiased_candidate_is_below_the_bounds_and_the_best_is_chosen(seed, types, queries, epsilon):
    _check_candidates_of_random_queries(seed, types, queries, epsilon)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@SMALL_QUESTIONS
def test_no_unbiased_candidate_of_more_questions_is_below_the_bounds(seed, types, queries, epsilon):
    _check_candidates_of_random_queries(seed, types, queries, epsilon)


def _check_candidates_of_random_queries(seed, types, queries, epsilon):
    matrix = np.random.default_rng(seed).normal(size=(queries, types)).tolist()
    line = {"name": "v", "kind": "categorical", "labels": [str(x) for x in range(types)]}
    workload = parse_specification({"name": "w", "domain": [line], "queries": {"matrix": matrix}}).build()
    for objective in ("max", "mean"):
        plan = compile_plan(
            PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective, effort="quick"))
        )
        check_guarantee(plan.device)
        bounds = plan.analyst.certificate
        found = {report.name: report.figures for report in plan.candidates if report.applies}
        for figures in found.values():
            # What directions state as their bias could buy them at most this share of a variance.
            slack = 1 - 1e-9 if figures.bias_bound < 1e-9 else 1 - 1e-3
            assert figures.max_variance >= bounds.max.value * slack
            assert figures.mean_variance >= bounds.mean.value * slack
        name = f"{objective}_variance"
        chosen = getattr(plan.analyst.figures, name)
        assert chosen <= min(getattr(figures, name) for figures in found.values()) * (1 + 1e-8)


def test_the_parts_are_documents_that_read_back_and_belong_together(plan_of):
    plan = plan_of("prefix", 12)
    assert DevicePart.read(plan.device.content, plan.device.digest) == plan.device
    assert AnalystPart.read(plan.analyst.content) == plan.analyst
    assert plan.analyst.device_digest == plan.device.digest
    assert plan.device.domain == plan.request.workload.domain


def test_the_summary_has_what_the_command_promises(plan_of):
    summary = plan_of("prefix", 12).summary.model_dump()
    assert set(summary) == SUMMARY
    assert summary["ratio_max"] == pytest.approx(summary["max_variance"] / summary["lower_bound_max"])
    assert summary["outputs"] == plan_of("prefix", 12).device.randomizer.accumulator_size
    assert [row["name"] for row in summary["candidates"]] == list(mechanism_names())
    assert plan_of("prefix", 12, mechanism="factorization").summary.outputs is None
    # Bounds are above 0 at every ε; this mechanism adds up the noise of 63 types.
    assert plan_of("prefix", 64, "16", mechanism="randomized_response").summary.ratio_max == pytest.approx(63, rel=1e-6)


def test_what_snapping_cost_is_said_of_the_search_only(plan_of):
    for objective in ("max", "mean"):
        plan = plan_of("prefix", 8, "1", objective, "optimised_kernel")
        (row,) = plan.summary.candidates
        assert -0.02 < row.snapping_cost < 0.05
    assert [row.snapping_cost for row in plan_of("prefix", 8, mechanism="factorization").summary.candidates] == [None]


def test_users_add_predicted_errors_and_a_target_the_users_it_takes(plan_of):
    plan = plan_of("prefix", 12, users=10_000)
    summary = plan.summary.model_dump()
    assert set(summary) == SUMMARY | {"users", "predicted_max_rmse", "predicted_errors", "shuffled"}
    assert summary["predicted_max_rmse"] == pytest.approx(np.sqrt(summary["max_variance"] / 10_000))
    assert [row["label"] for row in summary["predicted_errors"]] == plan.request.workload.labels()
    needed = plan.finished().users_needed(0.01)
    assert max(plan.profile.rmse(needed)) <= 0.01 < max(plan.profile.rmse(needed - 1))
    mean = plan_of("prefix", 12, "1", "mean")
    assert mean.finished().users_needed(0.01) == np.ceil(mean.analyst.figures.mean_variance / 1e-4)
    for target in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(PlanError, match="above the bias bound"):
            plan.finished().users_needed(target)


def test_a_bias_cannot_be_averaged_away(plan_of):
    plan = plan_of("prefix", 33, "1", "max", "factorization", users=500, reduction=20, seed=3)
    assert not counts_as_unbiased(plan.analyst.figures)
    with pytest.raises(PlanError, match="above the bias bound"):
        plan.finished().users_needed(plan.analyst.figures.bias_bound)


def test_progress_moves_forward_from_nothing_to_everything():
    seen = []
    options = PlanningOptions.of(epsilon=ONE.epsilon, objective="max", effort="quick")
    plan = compile_plan(PlanRequest(builtin("prefix", 9), options), seen.append)
    fractions = [told.fraction for told in seen]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < 0.1
    assert fractions[-1] == 1.0
    assert {f"evaluating {name}" for name in mechanism_names()} < {told.stage for told in seen}
    assert {told.variance for told in seen if told.stage.startswith("bounding")} == {None}
    found = [told.variance for told in seen if told.variance is not None]
    assert len(set(found)) > 3
    assert seen[-1].ratio == pytest.approx(plan.summary.ratio_max)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another():
    terms = {"epsilon": ONE.epsilon, "objective": "max", "effort": "quick"}
    first, again, other = (
        compile_plan(PlanRequest(builtin("prefix", 10), PlanningOptions.of(seed=seed, **terms))).finished()
        for seed in (5, 5, 6)
    )
    assert again.device.content == first.device.content
    assert again.analyst.content == first.analyst.content
    assert first.complete
    assert other.device.digest != first.device.digest


def test_a_limit_that_is_not_reached_changes_nothing(plan_of):
    limited = plan_of("prefix", 12, time_limit=600.0)
    assert limited.cut_short is None
    assert limited.device.digest == plan_of("prefix", 12).device.digest


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_no_time_at_all_leaves_the_best_closed_form(plan_of, kind):
    plan = plan_of(kind, 40, time_limit=1e-9)
    assert (plan.analyst.mechanism, plan.cut_short) == ("subset_selection", "time limit")
    assert isinstance(plan.analyst.certificate.max, SomeTypesBound)
    assert 0 < plan.analyst.certificate.max.value < plan.analyst.figures.max_variance
    closed = plan_of(kind, 40, mechanism="subset_selection")
    assert plan.device.digest == closed.device.digest


def test_the_time_limit_covers_bounds_and_factorizations(plan_of):
    """A bound of few types is made in no time, and a factorization that is needed ends after one step."""
    cut = plan_of("prefix", 64, mechanism="factorization", time_limit=1e-9)
    whole = plan_of("prefix", 64, mechanism="factorization")
    assert (cut.cut_short, whole.cut_short) == ("time limit", None)
    assert 0 < cut.analyst.certificate.max.value < 0.9 * whole.analyst.certificate.max.value
    assert cut.analyst.figures.max_variance > 1.01 * whole.analyst.figures.max_variance


def test_an_interruption_takes_the_best_so_far():
    seen = []

    def asked():
        return any(told.stage == "evaluating subset_mixture" for told in seen)

    options = PlanningOptions.of(epsilon=ONE.epsilon, objective="max", effort="quick")
    plan = compile_plan(PlanRequest(builtin("prefix", 24), options), seen.append, asked)
    assert (plan.analyst.mechanism, plan.cut_short) == ("subset_selection", "interrupted")
    assert plan.analyst.certificate.max.value > 0
    with pytest.raises(PlanError, match="the queries are not a histogram"):
        compile_plan(
            PlanRequest(
                builtin("prefix", 24),
                PlanningOptions.of(epsilon=ONE.epsilon, objective="max", mechanism="subset_mixture"),
            ),
            interrupted=lambda: True,
        )


@pytest.mark.parametrize("mechanism", ["randomized_response", "optimised_kernel", "factorization"])
def test_a_named_mechanism_is_the_only_one_considered(plan_of, mechanism):
    plan = plan_of("prefix", 8, mechanism=mechanism)
    assert plan.analyst.mechanism == mechanism
    assert [report.name for report in plan.candidates] == [mechanism]


def test_what_cannot_be_planned_is_refused_with_what_to_do():
    prefix = builtin("prefix", 8)
    with pytest.raises(PlanError, match=f"use one of {', '.join(mechanism_names())}"):
        compile_plan(PlanRequest(prefix, PlanningOptions.of(epsilon=ONE.epsilon, objective="max", mechanism="magic")))
    with pytest.raises(PlanError, match="objective"):
        PlanRequest(prefix, PlanningOptions.of(epsilon=ONE.epsilon, objective="median"))
    with pytest.raises(InvalidValue, match=r"from 0\.001 to 16"):
        PlanRequest(prefix, PlanningOptions.of(epsilon=17, objective="max"))
    for options in ({"users": 0}, {"reduction": 0}, {"users": 1.5}, {"seed": -1}):
        with pytest.raises(PlanError, match=next(iter(options))):
            PlanRequest(prefix, PlanningOptions.of(epsilon=ONE.epsilon, objective="max", **options))
    lines = [{"name": name, "kind": "integers", "low": 1, "high": 1100} for name in "xy"]
    grid = parse_specification({"name": "grid", "domain": lines, "queries": "prefix"}).build()
    with pytest.raises(PlanError, match="use wider bins, for example 512 and 512"):
        PlanRequest(grid, PlanningOptions.of(epsilon=ONE.epsilon, objective="max"))


def test_too_many_types_for_a_matrix_leave_what_needs_none_and_say_so():
    plan = compile_plan(PlanRequest(builtin("prefix", 1100), PlanningOptions.of(epsilon=ONE.epsilon, objective="max")))
    assert plan.analyst.mechanism == "shifted_grids"
    reasons = {report.name: report.reason for report in plan.candidates}
    assert "a dense design of more than 512 ordered types takes minutes: name its mechanism" in reasons["factorization"]
    assert 1 < plan.summary.ratio_max < 1.5
    many = compile_plan(PlanRequest(builtin("ranges", 400), PlanningOptions.of(epsilon=ONE.epsilon, objective="max")))
    reasons = {report.name: report.reason for report in many.candidates}
    assert reasons["factorization"].startswith("80199 × 400 entries of W")


def test_a_tie_goes_to_the_simpler_device():
    """With two types randomized response and every kernel of half-spaces have the same law."""
    plan = compile_plan(PlanRequest(builtin("prefix", 2), PlanningOptions.of(epsilon=ONE.epsilon, objective="max")))
    assert plan.analyst.mechanism == MECHANISMS[0].name == "randomized_response"


def test_a_constant_query_is_answered_and_counts_nowhere(plan_of):
    alone = plan_of("matrix", 3, rows=((1.0, 0.0, 2.0),))
    beside = plan_of("matrix", 3, rows=((1.0, 0.0, 2.0), (7.0, 7.0, 7.0)))
    for name in ("max_variance", "mean_variance"):
        assert getattr(alone.analyst.figures, name) == pytest.approx(getattr(beside.analyst.figures, name), rel=1e-3)
    assert beside.profile.variance[1] == beside.profile.bias[1] == 0


class Pretending:
    """A candidate that runs a mechanism of twice the ε."""

    name = "pretending"

    def reason_against(self, work):
        return None

    def propose(self, work, progress):
        twice = PureEpsilon(2 * work.request.guarantee.nano)
        randomizer = RandomizedResponse.for_guarantee(work.request.workload.size, twice)
        return base.Proposal(randomizer, inverse_decoder(response_moments(randomizer)))


def test_a_candidate_that_spends_more_than_asked_is_never_published(monkeypatch):
    monkeypatch.setattr(registry, "MECHANISMS", (Pretending(),))
    with pytest.raises(GuaranteeNotMet):
        compile_plan(PlanRequest(builtin("prefix", 8), PlanningOptions.of(epsilon=ONE.epsilon, objective="max")))


def test_a_biased_candidate_wins_until_its_bias_outweighs_the_variance(monkeypatch):
    """Where variance/n + bias² of the reduced factorization meets variance/n of subset selection."""
    monkeypatch.setattr(registry, "MECHANISMS", (FactorizationMechanism(), SubsetSelectionMechanism()))

    def plan(users, mechanism=None):
        options = PlanningOptions.of(
            epsilon=ONE.epsilon, users=users, reduction=50, mechanism=mechanism, effort="quick"
        )
        return compile_plan(PlanRequest(builtin("prefix", 65), options))

    biased, unbiased = (plan(1, name).analyst.figures for name in ("factorization", "subset_selection"))
    assert biased.max_variance < unbiased.max_variance
    crossing = (unbiased.max_variance - biased.max_variance) / biased.bias_bound**2
    assert crossing > 2
    assert plan(int(crossing)).analyst.mechanism == "factorization"
    assert plan(int(crossing) + 1).analyst.mechanism == "subset_selection"
