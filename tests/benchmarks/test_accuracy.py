"""The accuracy benchmark prints what the planner says, draws it, and loses nothing to one plan that fails."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.accuracy import measure, tables, workloads
from sordino_analysis.planning_options import PlanError

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--quick", "--workload", "histogram", "prefix", "parities", "--epsilon", "1"]


def called(*options):
    command = [sys.executable, "-m", "benchmarks.accuracy", *SMALL, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accuracy")
    done = called("--json", "--chart", str(folder / "chart.svg"), "--results", str(folder / "plans.jsonl"))
    return json.loads(done.stdout), folder


@pytest.fixture
def case():
    return measure.Case("prefix-8", 1.0, "max", 0)


@pytest.fixture
def plan(case):
    candidates = {"randomized_response": 3.0, "subset_selection": 2.0}
    return measure.Plan(case, "subset_selection", 2.0, 1.6, candidates, 100, 200, 0.5)


def test_the_chosen_is_never_above_a_candidate(run):
    rows, _ = run
    assert {row["workload"] for row in rows} == {"histogram-8", "prefix-8", "parities-2-of-4"}
    for row in rows:
        assert row["variance"] == pytest.approx(row["candidates"][row["mechanism"]])
        assert row["variance"] <= min(row["candidates"].values()) * (1 + 1e-9)
        assert row["variance"] >= row["lower_bound"] * (1 - 1e-9)
        assert row["below"] == []


def test_the_chart_has_the_chosen_and_the_bound_in_a_panel_for_each_workload_and_objective(run):
    rows, folder = run
    drawn = ElementTree.parse(folder / "chart.svg").getroot()
    kinds = [element.get("class") for element in drawn.iter() if element.tag.endswith("polyline")]
    panels = {(row["workload"], row["objective"]) for row in rows}
    assert kinds.count("chosen") == len(panels)
    assert kinds.count("bound") == len(panels)


def test_plans_that_are_kept_are_not_made_again(run):
    rows, folder = run
    again = called("--json", "--results", str(folder / "plans.jsonl"))
    # Seconds are measured: the same ones are the ones that were kept.
    assert json.loads(again.stdout) == rows
    assert called("--summary", "--results", str(folder / "plans.jsonl")).stdout.count("prefix-8") == 1


def test_a_plan_that_fails_is_a_line_of_the_table_and_is_tried_again(monkeypatch, tmp_path, plan):
    asked = measure.cases([workloads.quick()[0]], [1.0], 0)

    def refused(request):
        raise PlanError("no mechanism applies", request)

    monkeypatch.setattr(measure, "compile_plan", refused)
    outcomes = list(measure.sweep(asked, tmp_path / "plans.jsonl"))
    assert [outcome.error for outcome in outcomes] == ["PlanError: no mechanism applies"] * 2
    assert "failed: PlanError" in tables.tables([plan, *outcomes])
    monkeypatch.undo()
    assert all(isinstance(outcome, measure.Plan) for outcome in measure.sweep(asked, tmp_path / "plans.jsonl"))


def test_a_candidate_that_is_better_than_the_chosen_one_is_named(plan):
    assert plan.below == []
    worse = replace(plan, mechanism="randomized_response", variance=3.0)
    assert worse.below == ["subset_selection"]
    assert tables.tables([worse]).count("subset_selection") == 2


def test_the_published_workloads_have_different_names():
    names = [workload.name for workload in workloads.standard([32, 128], large=True)]
    assert len(set(names)) == len(names)
    assert {"prefix-512", "ranges-16x16", "parities-3-of-8", "marginals-3-of-8", "stack-32"} <= set(names)
