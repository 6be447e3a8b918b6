"""Plans that tests keep: found by the same planner alone, with the steps that were told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino_analysis.planning import planning_request
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import Progress
from sordino_analysis.questions.linear import builtin
from tests import kept_plans


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and a process that knows no plan."""
    monkeypatch.setattr(kept_plans, "PLANS", tmp_path)
    monkeypatch.setattr(kept_plans, "_known", {})


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[LinearRequest]:
    """The requests that were computed and not found."""
    requests: list[LinearRequest] = []
    compile_ = LinearRequest.compile

    def noted(request: LinearRequest, *told: object) -> object:
        requests.append(request)
        return compile_(request, *told)  # type: ignore[arg-type]

    monkeypatch.setattr(LinearRequest, "compile", noted)
    return requests


def asked() -> LinearRequest:
    return LinearRequest(builtin("histogram", 3), PlanningOptions.of(epsilon=1, mechanism="randomized_response"))


def test_another_process_finds_the_plan_and_tells_the_same_steps(
    compiled: list[LinearRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[Progress] = []
    again: list[Progress] = []
    made = kept_plans.computed_once(asked(), first.append)
    monkeypatch.setattr(kept_plans, "_known", {})
    assert kept_plans.computed_once(asked(), again.append).content == made.content
    assert first == again != []
    assert len(compiled) == 1


def test_a_planner_whose_code_changed_computes_its_own(
    compiled: list[LinearRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version is in the digest of the request, and names the folder: each alone would do."""
    kept_plans.computed_once(asked(), lambda _: None)
    monkeypatch.setattr(kept_plans, "_known", {})
    with monkeypatch.context() as patch:
        patch.setattr(planning_request, "planner_version", lambda: "another")
        kept_plans.computed_once(asked(), lambda _: None)
    assert len(compiled) == 2
    monkeypatch.setattr(kept_plans, "_known", {})
    monkeypatch.setattr(kept_plans, "planner_version", lambda: "another")
    kept_plans.computed_once(asked(), lambda _: None)
    assert len(compiled) == 3


def test_a_damaged_plan_is_computed_again(compiled: list[LinearRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept_plans.computed_once(asked(), lambda _: None)
    (plan,) = kept_plans.folder().glob("*.plan")
    plan.write_bytes(plan.read_bytes()[:-1])
    monkeypatch.setattr(kept_plans, "_known", {})
    assert kept_plans.computed_once(asked(), lambda _: None).device == made.device
    assert len(compiled) == 2
