"""Conjunctions with a label: variances of shipped plans beside other ways, and what a round says of the best rule.

`python -m benchmarks.accuracy.concepts [--json PATH]`. Variances are of y·c(x) for one user, four times those of the
loss. Half-spaces of the factorization have γ₂²·(π/2)·coth²(ε/2) − 1; one rule a user Q·coth²(ε/2) − 1; Laplace noise of
scale λ = 2√p/ε on each of the p factors has 2λ²·γ₂²/1 + the values' own variance, which is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.references.approximate_conjunctions import approximate_conjunctions, best_bias
from sordino_analysis.average_case.figures import average_case_figures
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.elimination.three_rounds import ThreeRounds
from sordino_analysis.estimation.concepts import ConceptEstimator
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_codes, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness

CASES = ((4, 2), (6, 2), (8, 2), (8, 3), (16, 3), (32, 3), (62, 2))
WIDE = ((16, 5, 10**5), (32, 4, 10**5), (32, 5, 10**5), (32, 5, 10**6), (32, 5, 10**7), (32, 8, 10**6), (32, 8, 10**7))
ORDERED = (("thresholds", (16,)), ("intervals", (16,)), ("boxes", (5, 5)))
SHIPPED = ((16, 5, 10**5, True), (32, 4, 10**5, False))
_USERS = 1_000_000


def plan_of(
    indicators: int, width: int, epsilon: float, stated: int | None = None, **queries: Any
) -> tuple[CompiledPlan, float]:
    """The plan of all conjunctions, and the processor seconds that it took."""
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    asked = {
        "name": f"d={indicators}, w≤{width}",
        "domain": [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names],
        "queries": {
            "class": "conjunctions",
            "width": width,
            "label": {"attribute": "crashed", "positive": "on"},
            **queries,
        },
    }
    began = time.process_time()
    options = PlanningOptions.of(epsilon=epsilon, users=stated)
    plan = compile_plan(PlanRequest(parse_specification(asked).build(), options))
    return plan, time.process_time() - began


def measured(indicators: int, width: int, epsilon: float) -> dict[str, Any]:
    """One row of the table of variances."""
    plan, seconds = plan_of(indicators, width, epsilon)
    estimator = ConceptEstimator.of(plan.device, plan.analyst)
    figures, bound, told = plan.analyst.figures, plan.analyst.certificate.max, math.tanh(epsilon / 2) ** 2
    squared = (4 * bound.value + 1) * (told if epsilon <= math.log(3) else math.expm1(epsilon) / 8)
    rules, characters = plan.request.workload.queries, estimator.errors.parts[0]
    noise = (2 * math.sqrt(characters) / epsilon) ** 2
    return {
        "class": plan.request.workload.name,
        "rules": rules,
        "characters": characters,
        "squared_gamma_2": squared,
        "variance": 4 * figures.max_variance,
        "bound": 4 * bound.value,
        "ratio": figures.max_variance / bound.value,
        "trace_bound": squared / math.sinh(epsilon / 2) ** 2 - 1,
        "half_sphere": squared * math.pi / 2 / told - 1,
        "one_rule_a_user": rules / told - 1,
        "laplace": 2 * noise * squared,
        "plan_seconds": seconds,
        "device_bytes": len(plan.device.content),
        "report_bytes": plan.device.randomizer.payload_bytes,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def ordered(family: str, bins: tuple[int, ...], epsilon: float) -> dict[str, Any]:
    """Rules over ordered attributes of so many bins: the variance of y·c(x) beside its bound, and the seconds."""
    domain = [{"name": f"x{at}", "kind": "integers", "low": 0, "high": size - 1} for at, size in enumerate(bins)]
    asked = {
        "name": f"{family} {'×'.join(map(str, bins))}",
        "domain": [*domain, {"name": "crashed", "kind": "categorical", "labels": ["off", "on"]}],
        "queries": {"class": family, "label": {"attribute": "crashed", "positive": "on"}},
    }
    began = time.process_time()
    plan = compile_plan(PlanRequest(parse_specification(asked).build(), PlanningOptions.of(epsilon=epsilon)))
    figures, bound = plan.analyst.figures, plan.analyst.certificate.max
    return {
        "class": asked["name"],
        "rules": plan.request.workload.queries,
        "mechanism": plan.analyst.mechanism,
        "variance": 4 * figures.max_variance,
        "bound": 4 * bound.value,
        "plan_seconds": time.process_time() - began,
    }


def with_costs(indicators: int, width: int, miss: float, epsilon: float) -> dict[str, Any]:
    """Unequal costs: the variance of a loss in units of the mean cost, and its ratio to the bound."""
    plan, seconds = plan_of(indicators, width, epsilon, cost={"miss": miss, "false_alarm": 1})
    figures, bound = plan.analyst.figures, plan.analyst.certificate.max
    return {
        "class": f"d={indicators}, w≤{width}, costs {miss:g}:1",
        "variance": figures.max_variance / ((miss + 1) / 2) ** 2,
        "ratio": figures.max_variance / bound.value,
        "bound_kind": bound.kind,
        "plan_seconds": seconds,
    }


def by_marginals(indicators: int, width: int, epsilon: float) -> dict[str, Any]:
    """The same rules from the plan of all marginals of width + 1, with the label as one attribute more.

    Users spread evenly over all types: a report's second moment is Σ_T l_T²/λ_T over the characters with the label.
    """
    switches = [{"name": f"a{n}", "kind": "categorical", "labels": ["off", "on"]} for n in range(indicators + 1)]
    asked = {"name": "marginals", "domain": switches, "queries": {"kind": "marginals", "width": width + 1}}
    options = PlanningOptions.of(epsilon=epsilon, objective="mean", mechanism="orbit_kernel", effort="quick")
    plan = compile_plan(PlanRequest(parse_specification(asked).build(), options))
    law = LinearEstimator.of(plan.device, plan.analyst).law
    assert isinstance(law, OrbitAnswerMoments)
    noise = 1 / law.spectrum.information.sum(axis=0)
    moments = [sum(energy(size, j) * noise[j] for j in range(size + 1)) for size in range(width + 1)]
    return {"class": f"d={indicators}, w≤{width} by marginals", "variance": float(max(moments) - 1)}


def energy(width: int, size: int) -> float:
    """Σ l_T² of y·(a conjunction of `width` indicators) over the characters of the label and `size` of them."""
    if size == 0:
        return (1 - 2.0 ** (1 - width)) ** 2
    return math.comb(width, size) * 4.0 ** (1 - width)


def on_average(indicators: int, width: int, epsilon: float) -> dict[str, Any]:
    """Users for one known conjunction, right on average over databases, within .05 with 95 %."""
    found = average_case_figures("conjunctions", indicators, width, epsilon)
    return {"class": f"one of k={indicators}, w={width}", **found.model_dump()}


def with_bias(indicators: int, width: int, users: int, epsilon: float) -> dict[str, Any]:
    """Root mean squared errors of a loss of conjunctions of exactly this width: without bias, and with the best one."""
    unbiased, best = approximate_conjunctions(indicators, width, 0.0), best_bias(indicators, width, epsilon, users)
    errors = {"unbiased": unbiased.loss_error(epsilon, users), "biased": best.loss_error(epsilon, users)}
    return {"class": f"d={indicators}, w={width}", "users": users, **errors, "bias": best.bias / 2}


def shipped_with_bias(indicators: int, width: int, users: int, negations: bool, epsilon: float) -> dict[str, Any]:
    """The same error and bias of the plan that is shipped, from its integers, with the processor seconds it took."""
    asked = {"exactly": True, "bias": "allowed", "negations": negations}
    plan, seconds = plan_of(indicators, width, epsilon, users, **asked)
    figures = plan.analyst.figures
    return {
        "class": f"d={indicators}, w={width}, shipped",
        "mechanism": plan.analyst.mechanism,
        "users": users,
        "biased": math.hypot(math.sqrt(figures.max_variance / users), figures.bias_bound),
        "bias": figures.bias_bound,
        "plan_seconds": seconds,
    }


def statements(indicators: int, width: int, epsilon: float, users: int = _USERS) -> dict[str, Any]:
    """A round of devices with correlated attributes, one of whose rules predicts the label."""
    plan, _ = plan_of(indicators, width, epsilon)
    rng = np.random.default_rng(1)
    often = np.where(rng.random((users, 1)) < 0.5, 0.65, 0.4)
    held = (rng.random((users, indicators)) < often).astype(np.uint64)
    chances = np.where((held[:, 0] == 1) & (held[:, 1] == 1), 0.62, 0.38)
    codes = np.hstack([held, (rng.random(users) < chances).astype(np.uint64)[:, None]])
    estimator, randomizer = ConceptEstimator.of(plan.device, plan.analyst), plan.device.randomizer
    began = time.process_time()
    payloads = randomize_codes(randomizer, codes, plan.device.domain.shape, SeededRandomness(1))
    aggregate = Aggregate(users, accumulate(randomizer, payloads))
    summed = time.process_time()
    found = estimator.estimate(aggregate)
    return {
        "class": plan.request.workload.name,
        "users": users,
        "sum_seconds": summed - began,
        "estimate_seconds": time.process_time() - summed,
        "chosen": found.known.text(found.chosen),
        "loss": float(found.losses[found.chosen]),
        "band": float(found.band_high[found.chosen] - found.losses[found.chosen]),
        "excess": found.excess,
        "may_be_best": len(found.best),
        "statement": found.statement,
    }


def coverage(campaigns: int, lift: float, epsilon: float, users: int = 10_000) -> dict[str, Any]:
    """How many campaigns of three rounds hold what they say: four indicators, width 2, 8 rules in the second round."""
    plan, _ = plan_of(4, 2, epsilon)
    estimator = ConceptEstimator.of(plan.device, plan.analyst)
    protocol, rng = ThreeRounds(RoundShares(top=8)), np.random.default_rng(9)
    truth = estimator.estimator.workload.truth_of_codes(_planted(np.random.default_rng(1), 2_000_000, lift))
    names = [attribute.name for attribute in plan.device.domain.attributes]
    held = dict.fromkeys(("interval", "band", "best", "excess"), 0)
    for seed in range(campaigns):
        rounds: tuple[ClosedRound, ...] = ()
        for number, share in enumerate(protocol.shares.shares):
            step = protocol.step(rounds) if rounds else RoundPlan(plan.device, plan.analyst)
            assert isinstance(step, RoundPlan)
            codes = _planted(rng, round(share * users), lift)
            codes = codes[:, [names.index(attribute.name) for attribute in step.device.domain.attributes]]
            payloads = randomize_part(step.device, codes, SeededRandomness(3 * seed + number))
            total = Aggregate(len(codes), accumulate(step.device.randomizer, payloads))
            rounds += (ClosedRound(step, total),)
        found = protocol.conclude(rounds)
        first, chosen = found.first, found.first.chosen
        low, high = found.interval or (math.nan, math.nan)
        held["interval"] += bool(low <= truth[chosen] <= high)
        held["band"] += bool(((first.band_low <= truth) & (truth <= first.band_high)).all())
        held["best"] += int(truth.argmin()) in first.best.tolist()
        held["excess"] += bool(truth[chosen] - truth.min() <= first.excess)
    return {"class": f"three rounds, lift {lift}", "campaigns": campaigns, **held}


def _planted(rng: np.random.Generator, users: int, lift: float) -> NDArray[np.uint64]:
    """Four fair coins, and a label that follows `a0 and a1` as far as `lift` says."""
    held = rng.integers(2, size=(users, 4))
    often = np.where(held[:, 0] & held[:, 1], 0.5 + lift, 0.5 - lift)
    return np.column_stack([held, rng.random(users) < often]).astype(np.uint64)


def main() -> None:
    """Print both tables as JSON lines, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="PATH")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--campaigns", type=int, default=0, help="of three rounds, to count what they hold")
    options = parser.parse_args()
    rows = [measured(*case, options.epsilon) for case in CASES]
    rows += [measured(8, 2, 2.0) | {"class": "d=8, w≤2, ε = 2"}]
    rows += [ordered(family, bins, options.epsilon) for family, bins in ORDERED]
    rows += [with_costs(*case, 5.0, options.epsilon) for case in ((8, 2), (16, 3), (32, 3))]
    rows += [by_marginals(*case, options.epsilon) for case in ((8, 2), (8, 3), (16, 3))]
    rows += [with_bias(*case, options.epsilon) for case in WIDE]
    rows += [shipped_with_bias(*case, options.epsilon) for case in SHIPPED]
    rows += [on_average(*case, options.epsilon) for case in ((8, 3), (16, 3), (32, 3), (32, 8))]
    rows += [statements(*case, options.epsilon) for case in ((8, 3), (16, 3), (32, 3))]
    rows += [coverage(options.campaigns, lift, options.epsilon) for lift in (0.0, 0.1) if options.campaigns]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    if options.json is None:
        print(text)
        return
    with open(options.json, "w", encoding="utf-8") as stream:
        stream.write(text + "\n")


if __name__ == "__main__":
    main()
