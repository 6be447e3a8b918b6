"""From its order to its plan a workload is read once and built once: one of megabytes takes seconds for either."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.questions.linear import Workload, WorkloadSpecification
from sordino_analysis.requests import StoredRequest
from sordino_server.plans.checking import content_key
from sordino_server.plans.schemas import PlanOrder
from sordino_server.workloads.checking import check_workload

LINE = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}
WORKLOADS = {
    "kind": {"name": "delays", "domain": [LINE], "queries": "prefix"},
    "matrix": {"name": "delays", "domain": [LINE], "queries": {"matrix": [[1, 0, 0, 1], [0, 1, 0, 2]]}},
    "stack": {"name": "delays", "domain": [LINE], "queries": {"stack": [{"queries": "prefix"}]}},
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened to workloads: "read" of their written form, "built" of the linear map."""
    seen: list[str] = []

    def counted(owner: type, name: str, word: str) -> None:
        usual: Callable[..., Any] = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            seen.append(word)
            return usual(*given, **named)

        monkeypatch.setattr(owner, name, call)

    counted(WorkloadSpecification, "model_validate", "read")
    counted(Workload, "__post_init__", "built")
    return seen


@pytest.mark.parametrize("document", WORKLOADS.values(), ids=WORKLOADS.keys())
def test_a_workload_is_read_once_and_built_once_on_its_way_to_a_plan(
    calls: list[str], document: dict[str, Any]
) -> None:
    registered = check_workload(json.dumps(document).encode())
    assert calls == ["built"], "registered: read by the schema of the API, built for its sizes"
    calls.clear()
    order = PlanOrder(workload=registered.id, epsilon=1, mechanism="randomized_response")
    key = content_key(order, registered.specification, registered.queries)
    assert calls == []
    request: PlanningRequest = StoredRequest(registered.specification, order.options())
    assert (str(request.digest), calls) == (key, [])
    plan = request.with_time_limit(60).compile(lambda step: None)
    assert calls == ["read", "built"]
    assert plan.analyst.mechanism == "randomized_response"
