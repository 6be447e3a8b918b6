"""`import sordino_analysis as sa`: the public names are a list, the import is light, every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.analyst import (
    comparisons,
    contrasts,
    estimates,
    experiments,
    items,
    pairs,
    pictures,
    plans,
    quantile_shifts,
    results,
    rules,
    series,
    simulation,
    string_plans,
    tables,
    workloads,
)

PUBLIC = {
    "Aggregate", "AskedStrings", "AverageCaseAnswer", "ColumnError", "Contrast", "Estimate", "EstimateComparison",
    "EstimationError", "Experiment", "Items", "PairwisePlan", "PairwiseSimulation", "Picture", "Plan", "PlanError",
    "Progress", "RankedRules", "Rotation", "SeriesEstimates", "Simulation", "SordinoError", "StringCode",
    "StringEstimate", "StringPlan", "StringSimulation", "Workload", "WorkloadError", "aggregate", "best_rules",
    "chart", "common_strings", "compare", "estimate", "experiment", "histogram", "items", "marginal",
    "pairwise_statistic", "plan", "plan_pairwise", "prefix", "quantile_shift", "ranges", "read_csv",
    "read_estimates", "read_pairwise_plan", "read_plan", "read_string_plan", "rotation", "rule_on_average",
    "series", "simulate", "simulate_pairwise", "text_code", "workload",
}  # fmt: skip
MODULES = (
    comparisons, contrasts, estimates, experiments, items, pairs, pictures, plans, quantile_shifts, results, rules,
    series, simulation, string_plans, tables, workloads,
)  # fmt: skip
FUNCTIONS = sorted(name for name in PUBLIC if inspect.isfunction(getattr(sa, name)))


def test_the_public_names_are_these() -> None:
    assert set(sa.__all__) == PUBLIC
    assert sa.__all__ == sorted(sa.__all__)
    assert set(dir(sa)) >= PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_what_its_module_defines_and_has_a_docstring(name: str) -> None:
    value = getattr(sa, name)
    assert value.__name__ == name
    assert getattr(importlib.import_module(value.__module__), name) is value
    assert inspect.getdoc(value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_names_its_errors_or_refers_to_one_that_does(name: str) -> None:
    text = " ".join((getattr(sa, name).__doc__ or "").split())
    assert "Raises " in text or "arguments as for `" in text


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plam'"):
        _ = sa.plam  # type: ignore[attr-defined]


def test_the_import_loads_no_library_and_building_a_workload_no_solver() -> None:
    code = (
        "import sys, sordino_analysis as sa\n"
        "heavy = {'numpy', 'scipy', 'clarabel', 'pydantic', 'yaml'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "sa.prefix(8)\n"
        "assert not {'clarabel', 'sordino_server', 'sordino_client'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_examples_of_docstrings_run(module: object) -> None:
    names = {name: getattr(sa, name) for name in sa.__all__} | {"np": np, "three": sa.plan(sa.histogram(3), epsilon=1)}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for example in finder.find(module, module.__name__, globs=names):  # type: ignore[arg-type]
        runner.run(example)
    assert runner.failures == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    having = {
        example.name.rpartition(".")[2] for module in MODULES for example in finder.find(module) if example.examples
    }
    assert having >= {"plan", "simulate", "estimate", "prefix", "histogram", "ranges", "workload", "pairwise_statistic"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_in_the_readme(name: str) -> None:
    table = (Path(__file__).parents[3] / "analysis" / "README.md").read_text(encoding="utf-8")
    assert f"`{name}`" in table
