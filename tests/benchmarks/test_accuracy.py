"""The accuracy benchmark prints what the planner says, and draws it."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    chart = tmp_path_factory.mktemp("accuracy") / "chart.svg"
    command = [sys.executable, "-m", "benchmarks.accuracy", "--quick", "--json", "--chart", str(chart)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), chart


def test_the_chosen_is_never_above_a_candidate(run):
    rows, _ = run
    assert {row["workload"] for row in rows} == {"histogram 8", "prefix 8", "ranges 8"}
    for row in rows:
        unbiased = {name: value for name, value in row["candidates"].items() if name != "factorization"}
        assert row["variance"] <= min(unbiased.values()) * (1 + 1e-9)
        assert row["variance"] >= row["lower_bound"] * (1 - 1e-9)


def test_the_chart_has_a_line_for_each_workload_and_objective(run):
    rows, chart = run
    drawn = ElementTree.parse(chart).getroot()
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert len(lines) == len({(row["workload"], row["objective"]) for row in rows})
