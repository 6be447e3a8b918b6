"""Answers on demand: asked of a running server, computed in its own process from the stored aggregate."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sordino_analysis.answers.columns import in_order
from sordino_analysis.request_terms import MOST_QUESTIONS
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server import aggregates, rounds
from sordino_server.models import Role
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, ReportBatch, Task
from tests.estimates import answers_of, facts_of

Check = Callable[..., dict[str, Any]]
CELLS = [0] * 600 + [1] * 300 + [2] * 90 + [3] * 10
TABLE = {
    "name": "devices",
    "domain": [
        {"name": "os", "kind": "categorical", "labels": ["linux", "=other"]},
        {"name": "wifi", "kind": "categorical", "labels": ["no", "yes"]},
    ],
    "queries": "histogram",
}
PLANE = {
    "name": "plane",
    "domain": [{"name": name, "kind": "integers", "low": 0, "high": 47} for name in ("x", "y")],
    "queries": "prefix",
}
URLS = {"name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"}


def closed(running: Any, cells: list[int] = CELLS, **order: Any) -> str:
    campaign = running.campaign("open", **order)
    assert running.report(campaign, cells).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return f"/v1/campaigns/{campaign['id']}"


def purge_last_round(running: Any, path: str) -> None:
    """Give up the reports of the campaign's only round."""
    with running.database.read("round") as session:
        number = rounds.of_campaign(session, path.rpartition("/")[2])[-1].id
    status = running.api.get(f"{path}/status").json()
    randomizer = running.device_part(status).randomizer
    aggregates.purge(running.database, number, randomizer, running.clock.now())


def report_texts(running: Any, campaign: dict[str, Any], texts: list[Any]) -> httpx.Response:
    """Reports of devices that hold texts, or other values."""
    path = f"/v1/campaigns/{campaign['id']}"
    epoch = Task.read(running.anonymous.get(f"{path}/task").raise_for_status().content).epoch
    part, randomness = running.device_part(campaign), SeededRandomness(1)
    payloads = randomize_part(part, codes_many(part.domain, texts), randomness)
    ids = b"".join(epoch.to_bytes(2, "big") + randomness.bytes(14) for _ in texts)
    body = ReportBatch(part.digest, ids, payloads.tobytes()).content
    headers = {"Content-Type": CBOR_MEDIA_TYPE}
    response: httpx.Response = running.anonymous.post(f"{path}/rounds/0/reports", content=body, headers=headers)
    return response


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    """A running server on each database."""
    return request.getfixturevalue("running" if request.param == "sqlite" else "running_on_postgres")


def test_ranges_and_quantiles_with_interval_and_band(server: Any) -> None:
    path = closed(server)
    published = {each["label"]: each for each in answers_of(server.api.get(f"{path}/estimates").json())}
    response = server.api.get(f"{path}/answers", params={"range": ["..15", "0..60", "delay:15.."]})
    document = response.raise_for_status().json()
    facts = facts_of(document)
    assert (facts["kind"], facts["users"], facts["compared"]) == ("answers", len(CELLS), 9)
    assert (facts["round"], facts["level"], facts["target"]) == (0, 0.95, "reporters")
    listed, middle, last = answers_of(document)
    assert {each["kind"] for each in (listed, middle, last)} == {"range"}
    same = published["delay ≤ 15 min"]
    assert listed["value"] == pytest.approx(same["value"], abs=1e-12)
    assert listed["standard_error"] == pytest.approx(same["standard_error"], rel=1e-9)
    assert listed["band_lower"] < listed["lower"] < listed["value"] < listed["upper"] < listed["band_upper"]
    assert last["value"] == pytest.approx(1 - same["value"], abs=1e-9)
    for each, exact in ((middle, 0.39), (last, 0.1)):
        # Six standard errors: a false alarm in 5·10^8, and the seed is fixed.
        assert abs(each["value"] - exact) < 6 * each["standard_error"]
    again = server.api.get(f"{path}/answers", params={"range": ["..15", "0..60", "delay:15.."]})
    assert again.content == response.content
    assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
    rectangle = server.api.get(f"{path}/answers", params={"rectangle": "delay:0..60"}).raise_for_status().json()
    assert rectangle["terms"]["compared"] == 9
    assert answers_of(rectangle) == [middle | {"kind": "rectangle"}]
    quantiles = server.api.get(f"{path}/answers", params={"quantile": ["0.5", "0.98"]}).json()
    median = answers_of(quantiles)[0]
    assert (median["label"], median["unit"]) == ("0.5 quantile of delay", "min")
    assert (median["member"], median.get("value_lower"), median["value_upper"]) == ("≤ 0", None, 0.0)
    assert median["beyond"] is False
    for prefix in ("", "band_", "population_"):
        assert median.get(f"{prefix}lower") is None
        assert median[f"{prefix}upper"] in (0.0, 15.0, 60.0, None)


def test_cells_and_marginals_as_a_table(running: Any) -> None:
    path = closed(running, workload=running.workload(TABLE))
    cells = running.api.get(f"{path}/answers", params={"cell": "os:linux,wifi:yes"}).raise_for_status().json()
    (found,) = answers_of(cells)
    assert abs(found["value"] - 0.3) < 6 * found["standard_error"]
    response = running.api.get(f"{path}/answers", params={"marginal": ["wifi:yes", "os:=other"], "format": "csv"})
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert list(rows[0]) == in_order(rows[0])
    assert [row["label"] for row in rows] == ["wifi: yes", "os: =other"]
    document = running.api.get(f"{path}/answers", params={"marginal": ["wifi:yes", "os:=other"]}).json()
    assert {float(row["bias_bound"]) for row in rows} == {document["terms"]["bias_bound"]}
    assert abs(float(rows[0]["value"]) - 0.31) < 6 * float(rows[0]["standard_error"])


@pytest.mark.slow
def test_rectangles_of_grids_on_two_attributes(running: Any) -> None:
    cells = [48 * 5 + 7] * 2400 + [48 * 20 + 30] * 1200 + [48 * 40 + 3] * 400
    path = closed(running, cells, workload=running.workload(PLANE), mechanism=None)
    estimate = running.api.get(f"{path}/estimates").raise_for_status().json()
    terms = estimate["terms"]
    assert (len(answers_of(estimate)), terms["unlisted"], terms["compared"]) == (36, 2303 - 36, 36)
    params = {"rectangle": ["x:3..10,y:3..10", "x:15..,y:..35"]}
    document = running.api.get(f"{path}/answers", params=params).raise_for_status().json()
    for each, exact in zip(answers_of(document), (0.6, 0.4), strict=True):
        # Six standard errors: a false alarm in 5·10^8.
        assert abs(each["value"] - exact) < 6 * each["standard_error"]
        assert "best" not in each
    assert document["terms"]["compared"] == (48 * 49 // 2) ** 2 - 1


def test_the_table_of_quantiles(running: Any) -> None:
    path = closed(running)
    text = running.api.get(f"{path}/answers", params={"quantile": "0.5"}, headers={"accept": "text/csv"}).text
    (row,) = csv.DictReader(io.StringIO(text))
    assert list(row) == in_order(row)
    assert (row["label"], row["member"]) == ("0.5 quantile of delay", "≤ 0")
    assert (row.get("value_lower", ""), row["value_upper"], row["beyond"]) == ("", "0.0", "false")


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "questions of one kind"),
    ({"range": "..15", "quantile": "0.5"}, "and not range and quantile"),
    ({"rnage": "..15"}, "no such parameter"),
    ({"range": "..7"}, "no edge of attribute 'delay'"),
    ({"range": "100..200"}, "no edge"),
    ({"range": "15..0"}, "empty"),
    ({"rectangle": "0..60"}, "NAME:VALUE for each attribute"),
    ({"rectangle": "delay:0..60,wifi:1..2"}, "no attribute 'wifi'"),
    ({"quantile": "0"}, "between 0 and 1"),
    ({"quantile": "1.5"}, "between 0 and 1"),
    ({"cell": "early"}, "holds numbers"),
    ({"marginal": "wifi:yes"}, "no attribute 'wifi'"),
    ({"range": ["..15"] * (MOST_QUESTIONS + 1)}, "/query/range"),
    ({"range": "x" * 901}, "/query/range"),
    ({"range": "..15", "format": "xml"}, "/query/format"),
]


def test_bad_questions_say_what_is_wrong(running: Any, check_problem: Check) -> None:
    path = closed(running)
    for params, mentioned in BAD:
        check_problem(running.api.get(f"{path}/answers", params=params), Problem.INVALID_REQUEST, mentioned)


def test_a_campaign_that_is_not_closed_has_no_answers(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")
    path, asked = f"/v1/campaigns/{campaign['id']}/answers", {"range": "..15"}
    check_problem(running.api.get(path, params=asked), Problem.ESTIMATE_NOT_READY, "close it first")
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    check_problem(running.api.get(path, params=asked), Problem.ESTIMATE_NOT_READY, "no report")
    check_problem(running.api.get(f"/v1/campaigns/{'0' * 64}/answers", params=asked), Problem.NOT_FOUND)
    check_problem(running.anonymous.get(path, params=asked), Problem.UNAUTHORIZED)


def test_a_purged_log_leaves_the_answers_of_the_aggregate(server: Any) -> None:
    path = closed(server)
    before = server.api.get(f"{path}/answers", params={"range": "..15"}).json()
    purge_last_round(server, path)
    # Another process decodes the round again.
    server.app.state.context.answers._running.kill()
    assert server.api.get(f"{path}/answers", params={"range": "..15"}).json() == before


def test_a_process_that_died_is_started_again(running: Any) -> None:
    path = closed(running)
    first = running.api.get(f"{path}/answers", params={"range": "..15"}).raise_for_status()
    running.app.state.context.answers._running.kill()
    assert running.api.get(f"{path}/answers", params={"range": "..15"}).content == first.content


def test_texts_of_a_hashed_attribute_are_counted_in_the_log(server: Any, check_problem: Check) -> None:
    campaign = server.campaign("open", workload=server.workload(URLS), mechanism=None)
    assert report_texts(server, campaign, ["/home"] * 700 + ["/a,b:c"] * 300).status_code == 200
    path = f"/v1/campaigns/{campaign['id']}"
    server.api.post(f"{path}/close").raise_for_status()
    server.work()
    document = server.api.get(f"{path}/answers", params={"cell": ["/home", "/a,b:c", "/never"]}).json()
    for each, exact in zip(answers_of(document), (0.7, 0.3, 0.0), strict=True):
        # Six standard errors, and the key of the hash differs from run to run: a false alarm in 2·10^8 runs.
        assert abs(each["value"] - exact) < 6 * each["standard_error"]
        assert each["band_lower"] <= each["lower"] <= each["upper"] <= each["band_upper"]
    assert document["terms"]["compared"] == 2**64
    purge_last_round(server, path)
    refused = server.api.get(f"{path}/answers", params={"cell": "/home"})
    check_problem(refused, Problem.ILLEGAL_TRANSITION, "were purged")


def test_a_statistic_has_no_other_answers(running: Any, check_problem: Check) -> None:
    colours = {"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}
    statistic = {"name": "mixed", "domain": [colours], "statistic": {"kind": "gini_diversity"}}
    campaign = running.campaign(
        "open", workload=running.workload(statistic), mechanism=None, users=1000, protocol="one_round"
    )
    answers = f"/v1/campaigns/{campaign['id']}/answers"
    check_problem(running.api.get(answers, params={"range": "..15"}), Problem.INVALID_REQUEST, "pairwise statistic")


def test_an_analyst_may_ask(running: Any) -> None:
    path = closed(running)
    with running.client(running.key(Role.ANALYST)) as analyst:
        assert analyst.get(f"{path}/answers", params={"range": "..15"}).status_code == 200
