"""The contract of a mechanism, on a sample of every member of MECHANISMS.

Its exact figures are above the certified bound, its answers have no more bias than it states, an audit finds what was
published, and the planner never publishes a worse plan. A mechanism without a sample fails the collection of this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.estimation.linear import estimate
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.mechanisms.mechanism import Mechanism
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.request_terms import Effort, Objective
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness

pytestmark = pytest.mark.usefixtures("bounds_proved_once")
# Two mechanisms this close are one up to rounding.
SAME = 1e-6
# Share of a variance that the bias which a direction states could buy it at most.
BOUGHT = 1e-3
# A right answer is refused for one seed in a million for each query; seeds are fixed.
FALSE_ALARM = 1e-6
REPORTS = 20_000


@dataclass(frozen=True)
class Sample:
    """A small workload that the mechanism answers; `users` for one that is compared by mean squared error.

    From so many `reports` a false answer is told from a true one.
    """

    workload: str
    objective: Objective = "max"
    users: int | None = None
    reports: int = REPORTS

    def plan(self, mechanism: str | None = None) -> CompiledPlan:
        """By this mechanism, or by the one that the planner chooses."""
        return _compiled(self, mechanism)

    def error(self, plan: CompiledPlan) -> float:
        """What the planner compares: the variance, or the mean squared error from so many users."""
        figures = plan.analyst.figures
        variance = figures.max_variance if self.objective == "max" else figures.mean_variance
        return variance if self.users is None else variance / self.users + figures.bias_bound**2


SAMPLES: dict[str, tuple[Sample, ...]] = {
    "randomized_response": (Sample("histogram"), Sample("histogram", "mean")),
    "subset_selection": (Sample("histogram"), Sample("histogram", "mean")),
    "subset_mixture": (Sample("histogram"), Sample("histogram", "mean")),
    "coarsened_histogram": (Sample("items", reports=10**6), Sample("items", "mean", reports=10**6)),
    "shifted_grids": (Sample("many_bins"), Sample("many_bins", "mean")),
    "plane_grids": (Sample("plane", "mean", reports=10**5),),
    "category_grids": (Sample("categories", "mean", reports=10**5),),
    "plane_category_grids": (Sample("plane_and_categories", "mean", reports=10**5),),
    "hadamard_response": (Sample("histogram"), Sample("prefix", "mean")),
    "haar": (Sample("prefix"), Sample("histogram", "mean")),
    "hierarchy": (Sample("prefix"), Sample("histogram", "mean")),
    "sampled_marginals": (Sample("parities"),),
    "fourier": (Sample("parities"),),
    "orbit_kernel": (Sample("parities"), Sample("parities", "mean")),
    "query_kernel": (Sample("single"),),
    "sign_vectors": (Sample("thresholds"), Sample("thresholds", "mean")),
    "extreme_rows": (Sample("prefix"),),
    "hyperplane_codebook": (Sample("prefix"),),
    "optimised_kernel": (Sample("prefix"),),
    "column_generation": (Sample("prefix", "mean"),),
    "factorization": (Sample("prefix"), Sample("prefix", "mean")),
    "approximate_factorization": (Sample("prefix", users=60),),
    "biased_characters": (Sample("wide_rules", users=3_000, reports=10**5),),
}


def workload(name: str) -> Workload:
    if name in ("prefix", "histogram"):
        return builtin(name, 6)
    if name == "items":
        return builtin("histogram", 64)
    if name == "many_bins":
        return builtin("prefix", 600)
    if name == "plane":
        sides = [{"name": side, "kind": "integers", "low": 0, "high": 47} for side in "ab"]
        return parse_specification({"name": name, "domain": sides, "queries": "prefix"}).build()
    if name == "categories":
        carrier = {"name": "carrier", "kind": "categorical", "labels": ["a", "b", "c"]}
        delay = {"name": "delay", "kind": "integers", "low": 0, "high": 255}
        queries = {"carrier": "histogram", "delay": "prefix"}
        return parse_specification({"name": name, "domain": [carrier, delay], "queries": queries}).build()
    if name == "plane_and_categories":
        flag = {"name": "c", "kind": "categorical", "labels": ["no", "yes"]}
        sides = [{"name": side, "kind": "integers", "low": 0, "high": 16} for side in "ab"]
        queries = {"a": "prefix", "b": "prefix", "c": "histogram"}
        return parse_specification({"name": name, "domain": [*sides, flag], "queries": queries}).build()
    if name == "thresholds":
        domain = [
            {"name": "x", "kind": "ordinal", "edges": [1.0, 2.0, 3.0]},
            {"name": "y", "kind": "ordinal", "edges": [1.0]},
        ]
        concepts = 2.0 * (np.arange(4) >= np.arange(4)[:, None]) - 1
        rows = np.stack([concepts, -concepts], axis=2).reshape(4, 8).tolist()
        return parse_specification({"name": name, "domain": domain, "queries": {"matrix": rows}}).build()
    lines = [{"name": attribute, "kind": "ordinal", "edges": [1.0]} for attribute in "abcd"]
    if name == "parities":
        return parse_specification({"name": name, "domain": lines, "queries": {"kind": "parities", "width": 2}}).build()
    if name == "wide_rules":
        rules = {"class": "conjunctions", "width": 3, "label": {"attribute": "d", "positive": "> 1"}, "bias": "allowed"}
        return parse_specification({"name": name, "domain": lines, "queries": rules}).build()
    domain = [{"name": "a", "kind": "ordinal", "edges": [1.0, 2.0, 3.0, 4.0]}]
    return parse_specification({"name": name, "domain": domain, "queries": {"matrix": [[1, 2, 0, -1, 0]]}}).build()


@cache
def _compiled(sample: Sample, mechanism: str | None) -> CompiledPlan:
    asked = workload(sample.workload)
    options = PlanningOptions.of(
        epsilon=1, objective=sample.objective, mechanism=mechanism, users=sample.users, effort=Effort.QUICK
    )
    return compile_plan(PlanRequest(asked, options))


def every_sample(mechanisms: Sequence[Mechanism] = MECHANISMS) -> Iterator[object]:
    for name in (mechanism.name for mechanism in mechanisms):
        if not SAMPLES.get(name):
            raise LookupError(f"the mechanism {name} is in MECHANISMS and has no sample in {__file__}")
        for sample in SAMPLES[name]:
            yield pytest.param(name, sample, id=f"{name}-{sample.workload}-{sample.objective}")


each = pytest.mark.parametrize(("mechanism", "sample"), list(every_sample()))


def test_a_mechanism_without_a_sample_fails_the_collection() -> None:
    added = SimpleNamespace(name="another")
    with pytest.raises(LookupError, match="the mechanism another is in MECHANISMS and has no sample"):
        list(every_sample((*MECHANISMS, added)))  # type: ignore[arg-type]
    assert set(SAMPLES) == {mechanism.name for mechanism in MECHANISMS}


@each
def test_exact_figures_are_above_the_certified_bound(mechanism: str, sample: Sample) -> None:
    plan = sample.plan(mechanism)
    figures, bounds = plan.analyst.figures, plan.analyst.certificate
    if sample.users is not None:
        # The bounds are about unbiased mechanisms; this one is compared by its mean squared error.
        assert figures.bias_bound > 0
        return
    share = 1 - 1e-8 if figures.bias_bound < 1e-8 else 1 - BOUGHT
    assert figures.max_variance >= bounds.max.value * share > 0
    assert figures.mean_variance >= bounds.mean.value * share > 0


@each
def test_an_audit_finds_what_was_published_and_refuses_a_percent_less(mechanism: str, sample: Sample) -> None:
    plan = sample.plan(mechanism)
    failed = [check for check in audit_plan(plan.device, plan.analyst) if not check.holds]
    assert failed == []
    for name in ("max_variance", "mean_variance"):
        lower = {name: 0.99 * getattr(plan.analyst.figures, name)}
        altered = replace(plan.analyst, figures=replace(plan.analyst.figures, **lower))
        assert not all(check.holds for check in audit_plan(plan.device, altered))


@each
def test_answers_have_no_more_bias_than_is_stated(mechanism: str, sample: Sample) -> None:
    """Simulated reports, of values with unequal shares; the answers of the values in another order are refused."""
    plan = sample.plan(mechanism)
    randomizer = plan.device.randomizer
    asked = for_randomizer(randomizer).listed(plan.request.workload)
    shares = np.arange(1, asked.size + 1) / np.arange(1, asked.size + 1).sum()
    cells = np.random.default_rng(1).choice(asked.size, sample.reports, p=shares).astype(np.int64)
    payloads = randomize_many(randomizer, cells, SeededRandomness(2))
    found = estimate(plan.device, plan.analyst, Aggregate(sample.reports, accumulate(randomizer, payloads)))
    allowed = norm.isf(FALSE_ALARM / 2) * found.standard_error + plan.analyst.figures.bias_bound
    assert (np.abs(found.unbiased - asked.truth(cells)) <= allowed).all()
    reversed_truth = asked.truth(asked.size - 1 - cells)
    assert (np.abs(found.unbiased - reversed_truth) > allowed).any()


@each
def test_the_planner_publishes_nothing_worse(mechanism: str, sample: Sample) -> None:
    assert sample.error(sample.plan()) <= sample.error(sample.plan(mechanism)) * (1 + SAME)
