"""Histograms of up to 2^64 items: figures against the bounds, sizes on the wire, and what is not listed."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.coarsened_histogram import best_density
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning.plan_cache import PlanCache
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import TooLargeForDense, parse_specification
from sordino_shared.domains import Hashed
from sordino_shared.randomizers import Coarsened, SubsetMixture, SubsetSelection


def integers(count):
    return {"name": "item", "kind": "integers", "low": 1, "high": count}


HASHED = {"name": "url", "kind": "hashed", "bits": 64}


def asked(*domain):
    return parse_specification({"name": "items", "domain": list(domain), "queries": "histogram"}).build()


def plan(*domain, epsilon="1", objective="max", **options):
    chosen = PlanningOptions.of(epsilon=epsilon, objective=objective, **options)
    return compile_plan(PlanRequest(asked(*domain), chosen))


@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4"])
@pytest.mark.parametrize("domain", [integers(1 << 20), integers(1 << 24), HASHED])
def test_variances_are_near_the_bounds(epsilon, domain):
    mean = plan(domain, epsilon=epsilon, objective="mean").summary
    worst = plan(domain, epsilon=epsilon, objective="max").summary
    assert mean.mechanism == worst.mechanism == "coarsened_histogram"
    strict = float(epsilon) <= 2
    assert 1 <= mean.ratio_mean <= (1.003 if strict else 1.05)
    assert 1 <= worst.ratio_max <= (1.01 if epsilon in ("0.5", "1", "2") else 1.02 if strict else 1.05)
    assert max(mean.bias_bound, worst.bias_bound) < 1e-12


def test_variances_at_one():
    assert plan(integers(1 << 20), objective="mean").summary.mean_variance <= 3.70
    assert plan(HASHED, objective="max").summary.max_variance <= 3.93
    assert plan(integers(1 << 20), epsilon="4").summary.max_variance <= 0.189


def test_reports_and_device_parts_are_small():
    for domain, payload in ((integers(1 << 24), 5), (HASHED, 9)):
        for epsilon in ("0.25", "1", "4"):
            made = plan(domain, epsilon=epsilon)
            assert made.device.randomizer.payload_bytes <= payload
            assert len(made.device.content) < 350
            assert len(made.analyst.content) < 1000
            assert made.summary.device_memory < 8 << 20


def test_an_audit_finds_what_was_published():
    made = plan(HASHED, epsilon="2", users=10**6)
    checks = list(audit_plan(made.device, made.analyst))
    assert checks
    assert all(check.holds for check in checks)
    (row,) = made.predicted_errors(10**6)
    assert row.label == "any url"
    assert row.rmse == pytest.approx(np.sqrt(made.summary.max_variance / 10**6))
    assert made.summary.queries == made.summary.k == 2**64


def test_each_number_of_items_has_its_mechanism():
    assert "64 on" in next(r.reason for r in plan(integers(63)).candidates if r.name == "coarsened_histogram")
    assert isinstance(plan(integers(100)).device.randomizer, SubsetMixture)
    assert isinstance(plan(integers(1025)).device.randomizer, Coarsened)
    named = plan(integers(2000), mechanism="subset_selection", objective="mean")
    assert isinstance(named.device.randomizer, SubsetSelection)
    with pytest.raises(PlanError, match="hash to fewer bits"):
        plan(HASHED, integers(2))
    several = plan({**HASHED, "bits": 20}, integers(1000))
    assert several.device.randomizer.payload_bytes == 5


def test_a_long_histogram_is_not_listed():
    workload = asked(integers((1 << 16) + 1))
    assert not workload.is_listed
    assert (workload.asked, workload.labels()) == (65_537, ["any item"])
    with pytest.raises(TooLargeForDense, match="one by one"):
        workload.operator.matvec(np.ones(1))
    assert asked(integers(1 << 16)).is_listed


def test_plans_with_hashes_differ_by_their_salt_and_are_not_kept(tmp_path):
    request = LinearRequest(asked({**HASHED, "bits": 30}), PlanningOptions.of(epsilon=1, objective="max"))
    cache, made = PlanCache(tmp_path), [request.compile() for _ in range(2)]
    salts = {
        attribute.salt for each in made for attribute in each.device.domain.attributes if isinstance(attribute, Hashed)
    }
    assert len(salts) == 2
    assert {len(salt) for salt in salts} == {16}
    cache.keep(request, made[0])
    assert cache.find(request) is None
    assert FinishedPlan.read(made[0].content).device == made[0].device
    other = LinearRequest(asked(integers(1 << 30)), PlanningOptions.of(epsilon=1, objective="max"))
    cache.keep(other, other.compile())
    assert cache.find(other) is not None


def test_densities_take_the_fewest_bits():
    assert best_density(1 << 24, 1.0, "mean") == (2, 1)
    assert best_density(1 << 24, 1.0, "max") == (3, 3)
    assert best_density(1 << 24, 2.0, "mean") == (3, 1)
    assert best_density(1 << 24, 2.0, "max") == (6, 17)
