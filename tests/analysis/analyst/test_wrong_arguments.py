"""Every public function with arguments of wrong types: an error of sordino in words, never one of numpy's."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from tests.foreign import WRONG, calls_with_one_wrong, foreign


def switches(form: str) -> list[dict[str, Any]]:
    names = "abcd" if form == "average" else "abc"
    return [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]


@cache
def planned(form: str) -> sa.Plan:
    label = {"attribute": "c", "positive": "on"}
    queries: dict[str, Any] = {
        "marginals": {"kind": "marginals", "width": 2},
        "average": {"class": "conjunctions", "width": 2, "scheme": "arrangement"},
        "rules": {"class": "conjunctions", "width": 1, "label": label},
    }
    if form in queries:
        asked = sa.workload({"name": form, "domain": switches(form), "queries": queries[form]})
    elif form == "items":
        domain = [{"name": "n", "kind": "integers", "low": 0, "high": 99_999}]
        asked = sa.workload({"name": "n", "domain": domain, "queries": "histogram"})
    else:
        asked = sa.prefix([0, 15, 60], name="delay")
    return sa.plan(asked, epsilon=2, effort="quick")


@cache
def pairs() -> Any:
    carriers = {"name": "carrier", "kind": "categorical", "labels": ["AA", "UA"], "other": True}
    asked = {"name": "carriers", "domain": [carriers], "statistic": {"kind": "gini_diversity"}}
    return sa.pairwise_statistic(asked)


@cache
def pairwise_plan() -> sa.PairwisePlan:
    return sa.plan_pairwise(pairs(), epsilon=1, users=1000)


@cache
def string_plan() -> sa.StringPlan:
    return sa.plan(sa.common_strings("words", depth=20), epsilon=4)


Call = tuple[Callable[..., object], dict[str, Any]]
LEVEL = {"level": 0.95}


@cache
def simulated() -> sa.Simulation:
    return sa.simulate(planned("prefix"), [1.0, 20.0, 70.0] * 50, seed=1)


def switched(form: str) -> dict[str, Any]:
    """A plan over switches, and the sums of fifty reports."""
    return {"plan": planned(form), "aggregate": sa.simulate(planned(form), [{}] * 50, seed=1, strict=False).aggregate}


@cache
def functions() -> dict[str, Call]:
    """Each public function and method with arguments that are right, but for those that take long."""
    return questions() | plans() | files() | campaigns() | estimates() | methods_of_plans() | methods_of_estimates()


def questions() -> dict[str, Call]:
    bins = {"members": [0, 1], "name": "v", "unit": "", "missing": False, "other": False}
    return {
        "histogram": (sa.histogram, bins),
        "prefix": (sa.prefix, bins),
        "ranges": (sa.ranges, bins),
        "workload": (sa.workload, {"source": {}}),
        "pairwise_statistic": (sa.pairwise_statistic, {"source": {}}),
        "common_strings": (sa.common_strings, {"code": "words", "name": "w", "depth": 24, "beam": 9, "error": 0.1}),
        "text_code": (sa.text_code, {"texts": ["ab", "abc"], "tokens": 2, "source": ""}),
    }


def plans() -> dict[str, Call]:
    plan = planned("prefix")
    asked = {"workload": plan.workload, "epsilon": 1, "objective": "max", "users": None, "robust": None}
    search = {"mechanism": "randomized_response", "seed": 0, "effort": "quick", "time_limit": None}
    kept = {"progress": False, "cache": None}
    return {
        "plan": (sa.plan, asked | search | kept),
        "plan_pairwise": (sa.plan_pairwise, {"statistic": pairs(), "epsilon": 1, "users": 1000}),
        "Plan": (sa.Plan, {"device": plan.device, "analyst": plan.analyst}),
        "rotation": (
            sa.rotation,
            {"plan": plan, "active": 1000, "target": None, "slots": 3, "periods": 1, "period_s": 86400}
            | {"late_s": 0, "answers_max": None},
        ),
    }


def files() -> dict[str, Call]:
    plan = planned("prefix")
    return {
        "read_plan": (sa.read_plan, {"device": plan.device.content, "analyst": plan.analyst.content}),
        "read_string_plan": (sa.read_string_plan, {"folder": "nowhere"}),
        "read_pairwise_plan": (sa.read_pairwise_plan, {"folder": "nowhere"}),
        "read_csv": (sa.read_csv, {"path": "nowhere.csv", "question": plan, "columns": None}),
        "read_estimates": (sa.read_estimates, {"source": "nowhere.csv", "key": None, "frame": None}),
        "Plan.save": (plan.save, {"folder": "kept"}),
    }


def campaigns() -> dict[str, Call]:
    plan, pairwise = planned("prefix"), pairwise_plan()
    reports = randomize_many(plan.device.randomizer, np.arange(3), SeededRandomness(1))
    drawn = {"seed": 1, "strict": True}
    primary = plan.workload.label(0)
    designed = {"plan": plan, "primary": primary, "daily": 20, "days": 2, "arms": {"A": 1, "B": 1}}
    design = sa.experiment(plan, primary, daily=20, days=2)
    return {
        "simulate": (sa.simulate, {"plan": plan, "values": [1.0, 2.0]} | drawn),
        "simulate_pairwise": (sa.simulate_pairwise, {"plan": pairwise, "values": ["AA", "UA"] * 600} | drawn),
        "aggregate": (sa.aggregate, {"plan": plan, "reports": reports}),
        "experiment": (sa.experiment, designed | {"looks": "planned", "spread": 0.5, "level": 0.95}),
        "Experiment.users": (design.users, {"difference": 0.1, "power": 0.8}),
        "Experiment.difference": (design.difference, {"days": 1, "power": 0.8}),
        "Experiment.look": (design.look, {"aggregates": [[simulated().aggregate] * 2]}),
        "Experiment.simulate": (design.simulate, {"values": [1.0, 20.0], "seed": 1, "effect": 0.0, "runs": 1}),
        "Aggregate": (sa.Aggregate, {"count": 3, "sums": np.array([1, 1, 1])}),
    }


def estimates() -> dict[str, Call]:
    plan, run = planned("prefix"), simulated()
    items = {"plan": planned("items"), "reports": sa.simulate(planned("items"), [1, 2] * 50, seed=1).aggregate}
    other = sa.simulate(plan, [1.0, 20.0] * 50, seed=2)
    sides = {"left": run, "right": other, "population": False, "only": None, "names": ["may", "june"]}
    return {
        "estimate": (sa.estimate, {"plan": plan, "aggregate": run.aggregate} | LEVEL),
        "quantile_shift": (sa.quantile_shift, {"left": run, "right": other, "share": 0.5} | LEVEL),
        "marginal": (sa.marginal, switched("marginals") | {"attributes": ["a"]} | LEVEL),
        "items": (sa.items, items | {"values": [1, 2]} | LEVEL),
        "chart": (lambda of: sa.chart(of), {"of": run.estimate}),
        "best_rules": (sa.best_rules, switched("rules") | LEVEL),
        "rule_on_average": (sa.rule_on_average, switched("average") | {"rule": {"a": True, "b": True}} | LEVEL),
        "series": (sa.series, {"plan": plan, "periods": {1: run.aggregate}, "slots": 30} | LEVEL),
        "compare": (sa.compare, sides | LEVEL),
    }


def methods_of_plans() -> dict[str, Call]:
    plan = planned("prefix")
    sizes = {"margin": 0.1, "difference": False, "population": False}
    return {
        "Plan.errors": (plan.errors, {"users": 10}),
        "Plan.users_needed": (plan.users_needed, {"error": 0.1}),
        "Plan.sample_sizes": (plan.sample_sizes, sizes | LEVEL),
        "StringPlan.share_found": (string_plan().share_found, {"users": 10}),
        "StringPlan.users_needed": (string_plan().users_needed, {"share": 0.1}),
        "StringPlan.standard_error": (string_plan().standard_error, {"users": 10}),
        "Plan.shuffled": (lambda **given: plan.shuffled(100, **given), {"delta": 1e-6, "fake": 0.1}),
        "Plan.warnings": (plan.warnings, {"users": 10}),
    }


def methods_of_estimates() -> dict[str, Call]:
    found = simulated().estimate
    first = found.labels[0]
    return {
        "Estimate.answer": (lambda kind, question: found.answer(kind, question), {"kind": "range", "question": "..15"}),
        "Estimate.answer given": (
            lambda **wrong: found.answer(wrong["kind"], wrong["question"], given=wrong["given"]),
            {"kind": "range", "question": "0..15", "given": "delay=..60"},
        ),
        "Estimate.contrast": (found.contrast, {"weights": {first: 1}}),
        "Estimate.contrast weight": (
            lambda label, weight: found.contrast({label if isinstance(label, str) else repr(label): weight}),
            {"label": first, "weight": 1},
        ),
        "Estimate.covariance": (found.covariance, {"queries": found.labels}),
    }


def test_every_public_function_is_called() -> None:
    called = {name.partition(".")[0] for name in functions()}
    values = {name for name in sa.__all__ if not name[0].isupper()}
    assert values <= called


def test_two_hundred_wrong_arguments_raise_errors_of_sordino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all 2,400 by the seed: of each function at least two."""
    monkeypatch.chdir(tmp_path)
    chosen = random.Random(17)
    every = [(name, call, given) for name, (call, good) in functions().items() for given in calls_with_one_wrong(good)]
    drawn = [one for name in functions() for one in chosen.sample([each for each in every if each[0] == name], 2)]
    drawn += chosen.sample(every, 200 - len(drawn))
    assert _foreign(drawn) == []


@pytest.mark.slow
def test_no_wrong_argument_raises_a_foreign_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    every = [(name, call, given) for name, (call, good) in functions().items() for given in calls_with_one_wrong(good)]
    assert _foreign(every) == []


def _foreign(calls: list[tuple[str, Callable[..., object], dict[str, Any]]]) -> list[str]:
    found = []
    for name, call, given in calls:
        raised = foreign(partial(call, **given))
        if raised is not None:
            found.append(f"{name}({', '.join(f'{key}={value!r:.40}' for key, value in given.items())}): {raised}")
    return found


def test_words_name_the_function_the_argument_and_what_was_given(plan: sa.Plan) -> None:
    with pytest.raises(
        InvalidValue, match=r"estimate: aggregate must be an Aggregate\(count, sums\).*not a value of type list"
    ):
        sa.estimate(plan, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="simulate: seed must be a whole number of at least 0, not str 'x'"):
        sa.simulate(plan, [1.0], seed="x")  # type: ignore[arg-type]
    found = sa.simulate(plan, [1.0] * 50, seed=1).estimate
    with pytest.raises(InvalidValue, match="one of range, rectangle, cell, marginal, quantile, mean, not 'ranges'"):
        found.answer("ranges", "..15")  # type: ignore[arg-type]
    for wrong in WRONG:
        if not isinstance(wrong, str):
            with pytest.raises(InvalidValue, match="write a question as a text"):
                found.answer("range", wrong)
