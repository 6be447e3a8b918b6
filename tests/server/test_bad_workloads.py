"""What cannot be planned, or only with care: one sentence that says what to do, by the command and by the server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli import app
from sordino_shared.protocol import Problem

MANY = [{"name": f"a{number}", "kind": "categorical", "labels": ["no", "yes"]} for number in range(40)]


def asked(matrix: list[list[float]]) -> dict[str, Any]:
    """A workload of these rows."""
    cells = len(matrix[0]) if matrix and matrix[0] else 3
    line = {"name": "value", "kind": "categorical", "labels": [str(cell) for cell in range(cells)]}
    return {"name": "rows", "domain": [line], "queries": {"matrix": matrix}}


def numbers(queries: Any = "mean", **attribute: Any) -> dict[str, Any]:
    """A workload about numbers."""
    load = {"name": "load", "kind": "number", "low": 0, "high": 60000, "unit": "ms"} | attribute
    return {"name": "load time", "domain": [load], "queries": {"load": queries}}


def stack(*parts: dict[str, Any]) -> dict[str, Any]:
    """Several kinds of queries about one line."""
    line = {"name": "delay", "kind": "integers", "low": 0, "high": 1023}
    return {"name": "several", "domain": [line], "queries": {"stack": list(parts)}}


REFUSED = [
    (asked([]), "the matrix is empty: give at least one row"),
    (asked([[]]), "the matrix is empty: give at least one row"),
    (asked([[7, 7, 7], [0, 0, 0]]), "every query has the same answer whatever the users hold: ask at least one"),
    (asked([[1e-300, 0, 1e300]]), "the largest entry is 1e+300: scale the queries"),
    (asked([[1e-300, 0, 2e-300]]), "the largest entry is 2e-300: scale the queries"),
    (asked([[1e-90, 0, 1e-80], [1e90, 0, 1e80], [1, 1, 1]]), "query 1 varies by 1e-80 and query 2 by 1e+90, more than"),
    (asked([[float("nan"), 0, 1]]), "finite"),
    (asked([[0, 0, float("-inf")]]), "finite"),
    ({"name": "m", "domain": [], "queries": "prefix"}, "at least one attribute"),
    ({"name": "m", "domain": [{"name": "u", "kind": "hashed", "bits": 9}], "queries": "prefix"}, "needs an order"),
    (numbers(low=5, high=5), "low must be below high"),
    (numbers(low=6, high=5), "low must be below high"),
    (numbers(unit="m" * 201), "unit"),
    (numbers("top", missing=True), "of which no value is frequent"),
    (numbers(other=True), "there is no such field"),
    (numbers({"share_above": 60000}), "ask for the share above one of them, not above 60000"),
    (numbers(["mean", "mean"]), "once each"),
    (numbers(low=1e15, high=1e15 + 2), "too far from 0"),
    (numbers() | {"queries": "prefix"}, "of kind number, which is asked for its mean"),
    (stack(*[{"queries": "prefix"}] * 20_000), "a stack has at most 256 parts, not 20,000: each takes precision from"),
    (stack({"queries": "prefix", "weight": 0}, {"queries": "histogram"}), "weight: Input should be greater than 0"),
    (
        {"name": "m", "domain": MANY, "queries": {"kind": "marginals", "width": 7}},
        "23242038 sets of attributes are too many",
    ),
]
# Too large for every mechanism, but not for the domain: the reasons say what each would need.
TOO_LARGE = {
    "name": "m",
    "domain": MANY,
    "queries": {attribute["name"]: "total" for attribute in MANY} | {"a0": "histogram"},
}


@pytest.fixture
def forks() -> bool:
    """Checks meet their limits."""
    return True


@pytest.mark.parametrize(("workload", "told"), REFUSED)
def test_the_command_refuses_in_a_sentence(tmp_path: Any, workload: dict[str, Any], told: str) -> None:
    # JSON has no NaN; YAML writes it with a dot.
    text = json.dumps(workload).replace("NaN", ".nan").replace("-Infinity", "-.inf")
    (tmp_path / "workload.yaml").write_text(text)
    arguments = ["plan", "--file", str(tmp_path / "workload.yaml"), "--epsilon", "1", "--no-cache"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "1000"})
    # The console may have been made by an earlier test of this process, for narrower lines.
    said = " ".join(result.stderr.split())
    assert (result.exit_code, told in said) == (2, True), said


@pytest.mark.parametrize(("workload", "told"), REFUSED)
def test_the_server_refuses_in_a_problem(running: Any, check_problem: Any, workload: dict[str, Any], told: str) -> None:
    headers = {"content-type": "application/json"}
    response = running.api.post("/v1/workloads", content=json.dumps(workload), headers=headers)
    check_problem(response, Problem.INVALID_REQUEST, told)


def test_each_candidate_says_why_it_cannot(running: Any, tmp_path: Any) -> None:
    (tmp_path / "workload.json").write_text(json.dumps(TOO_LARGE))
    arguments = ["plan", "--file", str(tmp_path / "workload.json"), "--epsilon", "1", "--no-cache"]
    said = CliRunner().invoke(app, arguments, env={"COLUMNS": "1000"}).stderr
    assert "\n- subset_selection: 1099511627776 types; a device holds at most 1048576\n" in said
    assert "\n- factorization: 1099511627776 types; the limit for a dense design is 2048\n" in said
    request = running.plan_request(workload=running.workload(TOO_LARGE), mechanism=None)
    running.work()
    failed = running.api.get(f"/v1/plan-requests/{request['id']}").json()
    assert failed["state"] == "failed"
    assert "\n- subset_selection: 1099511627776 types; a device holds at most 1048576\n" in failed["error"]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((255, 65536), "255 categories × 65536 bins are 16711680 types, and at most 1048576 are planned: with these"),
        ((None, 1 << 30), "1073741824 types; at most 262144 are planned: use at most 262144 wider bins"),
    ],
)
def test_too_many_bins_are_refused_with_the_number_that_works(
    running: Any, tmp_path: Any, sizes: tuple[int | None, int], told: str
) -> None:
    members, bins = sizes
    domain: list[Any] = [{"name": "delay", "kind": "integers", "low": 0, "high": bins - 1}]
    queries: Any = "prefix"
    if members is not None:
        labels = [f"c{number}" for number in range(members)]
        domain.insert(0, {"name": "carrier", "kind": "categorical", "labels": labels})
        queries = {"carrier": "histogram", "delay": "prefix"}
    workload = {"name": "delays", "domain": domain, "queries": queries}
    (tmp_path / "workload.json").write_text(json.dumps(workload))
    arguments = ["plan", "--file", str(tmp_path / "workload.json"), "--epsilon", "1", "--no-cache"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "1000"})
    assert (result.exit_code, told in " ".join(result.stderr.split())) == (2, True), result.stderr
    request = running.plan_request(workload=running.workload(workload), mechanism=None)
    running.work()
    failed = running.api.get(f"/v1/plan-requests/{request['id']}").json()
    assert (failed["state"], told in failed["error"]) == ("failed", True)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_queries_that_repeat_or_never_vary_cost_nothing(objective: Any) -> None:
    alone = planned([[1, 0, 0, 2], [0, 1, 0, 1]], objective)
    rows = [[7, 7, 7, 7], [1, 0, 0, 2], [0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 0, 2], [0, 1, 0, 1]]
    beside = planned(rows, objective)
    assert beside.profile.variance[[0, 2]].tolist() == beside.profile.bias[[0, 2]].tolist() == [0.0, 0.0]
    value = f"{objective}_variance"
    # Two searches of one problem end a few percent apart.
    assert getattr(beside.analyst.figures, value) < 1.1 * getattr(alone.analyst.figures, value)


@pytest.mark.parametrize("mechanism", [None, "subset_selection", "hyperplane_codebook", "factorization"])
def test_queries_that_follow_from_others_are_answered(mechanism: str | None) -> None:
    """W of rank 2 with 5 rows over 6 cells, two of which hold the same."""
    first, second = np.array([1.0, 0, 2, 2, 0, 1]), np.array([0.0, 1, 1, 1, 3, 0])
    rows = [(a * first + b * second).tolist() for a, b in ((1, 0), (0, 1), (1, 1), (2, -1), (0.5, 3))]
    plan = planned(rows, "max", mechanism)
    bounds = plan.analyst.certificate
    assert plan.analyst.figures.max_variance >= bounds.max.value * (1 - 1e-3) > 0
    assert np.isfinite(plan.profile.variance).all()


@pytest.mark.parametrize("epsilon", ["0.001", "16"])
def test_the_ends_of_epsilon_have_plans(epsilon: str) -> None:
    plan = planned([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]], "max", None, epsilon)
    assert 0 <= plan.analyst.certificate.max.value <= plan.analyst.figures.max_variance < np.inf


def planned(rows: list[list[float]], objective: Any, mechanism: str | None = None, epsilon: str = "1") -> CompiledPlan:
    """The plan for these rows."""
    workload = parse_specification(asked(rows)).build()
    return compile_plan(
        PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism=mechanism))
    )
