"""A plan is asked for, computed in the background, and published under its digests."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_shared.audit import check_guarantee
from sordino_shared.protocol import CBOR_MEDIA_TYPE, DevicePart, Digest, Problem

Check = Callable[..., dict[str, Any]]


@pytest.fixture
def forks() -> bool:
    """Checks meet their limits."""
    return True


def test_a_plan_from_order_to_parts(running: Any) -> None:
    asked = running.plan_request(epsilon="0.5", users=1000, seed=3)
    assert (asked["state"], asked["progress"], asked["summary"]) == ("queued", 0.0, None)
    running.work()
    ready = running.api.get(f"/v1/plan-requests/{asked['id']}").json()
    assert (ready["state"], ready["progress"], ready["error"]) == ("ready", 1.0, None)
    assert ready["summary"]["mechanism"] == "randomized_response"
    shuffled = ready["summary"]["shuffled"]
    assert (shuffled["reports"], shuffled["honest"], shuffled["delta"]) == (1000, 900, 1e-6)
    assert 0 < shuffled["epsilon"] < 0.2
    assert ready["summary"]["digests"] == {"device": ready["device_digest"], "analyst": ready["analyst_digest"]}
    contents = {name: running.anonymous.get(f"/v1/plans/{ready[name]}").content for name in _DIGESTS}
    device = DevicePart.read(contents["device_digest"], Digest.parse(ready["device_digest"]))
    analyst = AnalystPart.read(contents["analyst_digest"], Digest.parse(ready["analyst_digest"]))
    assert analyst.device_digest == device.digest
    assert analyst.seed == 3
    assert check_guarantee(device).nano <= device.guarantee.nano == 5 * 10**8


def test_a_finished_plan_states_the_price_of_locality(running: Any, check_problem: Check) -> None:
    ready = running.ready_plan()
    path = f"/v1/plan-requests/{ready['id']}/price-of-locality"
    found = running.api.get(path, params={"target_error": 0.01}).json()
    local, shuffled, blanket, curator = found["rows"]
    assert (found["epsilon"], found["delta"], found["neighbours"]) == (ready["summary"]["epsilon"], 1e-6, "replace")
    assert local["users"] == math.ceil(ready["summary"]["largest_variance"] / 0.01**2)
    assert curator["users"] < min(shuffled["users"], blanket["users"])
    assert local["users"] > max(shuffled["users"], blanket["users"])
    for wrong in ({}, {"target_error": 0}, {"target_error": "nan"}, {"target_error": 0.1, "delta": 1}):
        check_problem(running.api.get(path, params=wrong), Problem.INVALID_REQUEST)
    waiting = f"/v1/plan-requests/{running.plan_request(seed=8)['id']}/price-of-locality"
    check_problem(running.api.get(waiting, params={"target_error": 0.1}), Problem.PLAN_NOT_READY)


_DIGESTS = ("device_digest", "analyst_digest")


def test_answer_says_where_to_ask(running: Any) -> None:
    order = {"workload": running.workload(), "epsilon": 1}
    response = running.api.post("/v1/plan-requests", json=order)
    assert response.status_code == 202
    assert running.api.get(response.headers["location"]).json() == response.json()
    assert [each["id"] for each in running.api.get("/v1/plan-requests").json()["plan_requests"]] == [
        response.json()["id"]
    ]


@pytest.mark.parametrize(
    ("changes", "mentioned"),
    [
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": 1e-12}, "from 0.001"),
        ({"epsilon": 17}, "to 16"),
        ({"epsilon": 1e300}, "at most"),
        ({"epsilon": "NaN"}, "finite"),
        ({"epsilon": "one"}, "number"),
        ({"epsilon": True}, "epsilon"),
        ({"workload": "0" * 64}, "no workload"),
        ({"workload": "delays"}, "workload"),
        ({"mechanism": "magic"}, "randomized_response"),
        ({"objective": "median"}, "objective"),
        ({"users": 0}, "users"),
        ({"users": 1.5}, "users"),
        ({"reduction": 0}, "reduction"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"budget": 1}, "budget"),
    ],
)
def test_orders_that_are_refused_at_once(
    running: Any, check_problem: Check, changes: dict[str, Any], mentioned: str
) -> None:
    order = {"workload": running.workload(), "epsilon": 1} | changes
    check_problem(running.api.post("/v1/plan-requests", json=order), Problem.INVALID_REQUEST, mentioned)
    assert running.api.get("/v1/plan-requests").json()["plan_requests"] == []


@pytest.mark.parametrize("member", ["epsilon", "time_limit"])
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_numbers_that_are_not_finite_are_refused(running: Any, check_problem: Check, member: str, number: str) -> None:
    order = {"workload": running.workload(), "epsilon": 1} | {member: "here"}
    body = json.dumps(order).replace('"here"', number)
    response = running.api.post("/v1/plan-requests", content=body, headers={"content-type": "application/json"})
    check_problem(response, Problem.INVALID_REQUEST, member, "finite")
    assert running.api.get("/v1/plan-requests").json()["plan_requests"] == []


def test_a_part_is_immutable_for_any_cache(running: Any) -> None:
    digest = running.ready_plan()["device_digest"]
    path = f"/v1/plans/{digest}"
    plain = running.anonymous.get(path, headers={"accept-encoding": "identity"})
    assert plain.headers["content-type"] == CBOR_MEDIA_TYPE
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert plain.headers["etag"] == f'"{digest}"'
    assert str(Digest.of(plain.content)) == digest
    again = running.anonymous.get(path, headers={"if-none-match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert running.anonymous.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_large_part_is_compressed_under_a_tag_of_its_own(running: Any) -> None:
    digest = running.ready_plan(mechanism="factorization")["analyst_digest"]
    path = f"/v1/plans/{digest}"
    packed = running.anonymous.get(path, headers={"accept-encoding": "gzip;q=1.0, br"})
    plain = running.anonymous.get(path, headers={"accept-encoding": "gzip;q=0"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.headers["etag"] != plain.headers["etag"]
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.content == plain.content == gzip.decompress(gzip.compress(plain.content))
    assert str(Digest.of(plain.content)) == digest


def test_a_part_for_people(running: Any) -> None:
    ready = running.ready_plan()
    device = running.anonymous.get(f"/v1/plans/{ready['device_digest']}?format=json").json()
    assert (device["document"], device["digest"]) == ("device_part", ready["device_digest"])
    assert device["randomizer"]["kind"] == "randomized_response"
    assert device["guarantee"] == {"kind": "pure_epsilon", "nano": 10**9}
    analyst = running.anonymous.get(f"/v1/plans/{ready['analyst_digest']}?format=json").json()
    assert analyst["device_digest"] == ready["device_digest"]


def test_unknown_plans(running: Any, check_problem: Check) -> None:
    check_problem(running.anonymous.get("/v1/plans/" + "0" * 64), Problem.NOT_FOUND)
    check_problem(running.anonymous.get("/v1/plans/" + "G" * 64), Problem.INVALID_REQUEST)
    check_problem(running.api.get("/v1/plan-requests/" + "0" * 32), Problem.NOT_FOUND)


def test_a_finished_plan_states_the_users_that_a_margin_needs(running: Any, check_problem: Check) -> None:
    ready = running.ready_plan()
    path = f"/v1/plan-requests/{ready['id']}/sample-size"
    found = running.api.get(path, params={"margin": 0.01}).json()
    variance = ready["summary"]["largest_variance"]
    assert found["users"] == math.ceil((1.959963984540054 / 0.01) ** 2 * variance)
    assert found["band_users"] > found["users"]
    twice = running.api.get(path, params={"margin": 0.01, "difference": True, "level": 0.5}).json()
    assert twice["users"] == math.ceil(2 * (0.6744897501960817 / 0.01) ** 2 * variance)
    for wrong in ({}, {"margin": 0}, {"margin": "nan"}, {"margin": 0.1, "level": 1}, {"margin": 0.1, "users": 3}):
        check_problem(running.api.get(path, params=wrong), Problem.INVALID_REQUEST)
    asked = running.plan_request(seed=8)
    waiting = running.api.get(f"/v1/plan-requests/{asked['id']}/sample-size", params={"margin": 0.1})
    check_problem(waiting, Problem.PLAN_NOT_READY)
