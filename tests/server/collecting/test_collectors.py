"""Collectors: what they mirror, what they send, and what happens when they or their home are away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.estimation.linear import estimate
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.rounds import ClosedRound
from sordino_client import Caps, Client, PureEpsilon, ServerChanged
from sordino_server import rounds
from sordino_server.cli import app
from sordino_server.collecting.home import Home
from sordino_server.jobs.collector import Collector
from sordino_server.models import ManifestSignature, ReportChunk
from sordino_server.plans import service as plans
from sordino_shared.errors import InvalidValue
from sordino_shared.http.exchange import HttpRequest
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    CampaignId,
    Manifest,
    Problem,
    ReportOutcomes,
    Task,
)
from tests.client.test_unbuilt import MANIFESTS, UNBUILT
from tests.server.collecting.conftest import LIMIT, Region, Regions
from tests.server.conftest import RunningServer

OF_COLLECTORS = [
    ("delete", "/v1/keys/{key_id}"),
    ("get", "/livez"),
    ("get", "/readyz"),
    ("get", "/v1/audit-log"),
    ("get", "/v1/campaigns"),
    ("get", "/v1/campaigns/{campaign_id}"),
    ("get", "/v1/campaigns/{campaign_id}/signature"),
    ("get", "/v1/campaigns/{campaign_id}/status"),
    ("get", "/v1/campaigns/{campaign_id}/task"),
    ("get", "/v1/keys"),
    ("get", "/v1/plans/{digest}"),
    ("get", "/v1/populations/{name}/open"),
    ("get", "/v1/protocol-plans/{digest}"),
    ("get", "/v1/version"),
    ("post", "/v1/campaigns/{campaign_id}/rounds/{index}/retry"),
    ("post", "/v1/campaigns/{campaign}/rounds/{index}/reports"),
    ("post", "/v1/keys"),
]
ON_EACH_STORE = pytest.mark.parametrize("regions", ["sqlite", "postgres"], indirect=True)
CELLS = {"de": [0, 1, 2, 3] * 20, "eu": [0, 0, 1] * 30, "us": [3, 3, 2, 1] * 25}


def report(regions: Regions, campaign: dict[str, Any], index: int = 0) -> None:
    """Every region's devices report to its own server."""
    assert regions.home.report(campaign, CELLS["de"], seed=1, index=index).status_code == 200
    for seed, (name, region) in enumerate(regions.collectors.items(), start=2):
        answer = region.server.report(campaign, CELLS[name], seed=seed, index=index)
        assert ReportOutcomes.read(answer.content).accepted == len(CELLS[name])


def payloads(regions: Regions, campaign: dict[str, Any]) -> np.ndarray:
    """(n, width) every payload in the logs of the three servers."""
    servers = (regions.home, *(each.server for each in regions.collectors.values()))
    return np.concatenate([payloads_of(regions, campaign, server) for server in servers])


def payloads_of(regions: Regions, campaign: dict[str, Any], server: RunningServer) -> np.ndarray:
    """(n, width) every payload in a server's log."""
    width = regions.home.device_part(campaign).randomizer.payload_bytes
    with server.database.read() as session:
        content = b"".join(row.payloads for row in session.query(ReportChunk).order_by(ReportChunk.id))
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)


def task(region: Region, campaign: dict[str, Any]) -> Task:
    path = f"/v1/campaigns/{campaign['id']}/task"
    return Task.read(region.server.anonymous.get(path).raise_for_status().content)


@ON_EACH_STORE
def test_three_servers_give_the_sums_of_one(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    report(regions, campaign)
    assert regions.shown(campaign)["rounds"][0]["reports"] == len(CELLS["de"])
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    regions.home.work()
    [waiting] = regions.shown(campaign)["rounds"]
    assert (waiting["state"], waiting["waiting_for"]) == ("closed", ["eu", "us"])
    regions.work()
    [done] = regions.shown(campaign)["rounds"]
    assert (done["state"], done["reports"], done["waiting_for"]) == ("estimated", 270, [])
    assert [(each["source"], each["reports"]) for each in done["sources"]] == [("eu", 90), ("us", 100)]
    part, everything = regions.home.device_part(campaign), payloads(regions, campaign)
    one = Aggregate(len(everything), accumulate(part.randomizer, everything))
    assert regions.sums(campaign).to_bytes() == one.to_bytes()
    assert regions.home.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates").json()["terms"]["users"] == 270
    regions.work()
    for region in regions.collectors.values():
        shown = regions.shown(campaign, region.server)
        assert (shown["state"], shown["rounds"][0]["state"]) == ("closed", "estimated")
        assert (shown["servers"], shown["mirrored_at"]) == (["de", "eu", "us"], regions.home.clock.now())


def test_a_stray_report_is_refused_and_shown(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    eu, us = regions.collectors.values()
    sent = eu.server.report(campaign, [0, 1, 2]).request.content
    path, headers = f"/v1/campaigns/{campaign['id']}/rounds/0/reports", {"Content-Type": CBOR_MEDIA_TYPE}
    for server in (us.server, regions.home):
        answer = server.anonymous.post(path, content=sent, headers=headers)
        outcomes = ReportOutcomes.read(answer.content)
        assert (outcomes.accepted, len(outcomes.refused)) == (0, 3)
        assert regions.shown(campaign, server)["refusals"] == {"wrong-epoch": 3}
    again = eu.server.anonymous.post(path, content=sent, headers=headers)
    assert ReportOutcomes.read(again.content) == ReportOutcomes(0, 3, ())


def test_a_device_reports_to_the_collector_that_it_joined(regions: Regions, tmp_path: Any) -> None:
    campaign = regions.campaign("open")
    regions.work()
    eu, us = regions.collectors.values()
    caps = Caps(PureEpsilon.of(4), 30, PureEpsilon.of(40))
    with Client(eu.server.address, ledger=tmp_path / "ledger", caps=caps) as device:
        joined = device.join(campaign["id"])
        device.answer(joined, 17.0)
        assert device.flush(patience_s=0).delivered == 1
    with Client(us.server.address, ledger=tmp_path / "ledger", caps=caps) as moved, pytest.raises(ServerChanged):
        moved.answer(joined, 17.0)
    assert regions.shown(campaign, eu.server)["rounds"][0]["reports"] == 1


def test_signatures_of_the_manifest_are_mirrored(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    path = f"/v1/campaigns/{campaign['id']}/signature"
    eu = regions.collectors["eu"].server.anonymous
    assert eu.get(path).status_code == 404
    signature = ManifestSignature(campaign_id=campaign["id"], key=b"k" * 32, signature=b"s" * 64, created_at=0)
    with regions.home.database.write("sign") as session:
        session.add(signature)
    for _ in range(2):
        regions.work()
    assert eu.get(path).content == regions.home.anonymous.get(path).raise_for_status().content


def test_a_collector_decides_nothing(regions: Regions, check_problem: Any) -> None:
    campaign = regions.campaign("open")
    regions.work()
    server = regions.collectors["eu"].server
    path = f"/v1/campaigns/{campaign['id']}"
    taken = []
    for template, operations in server.app.openapi()["paths"].items():
        for method in operations:
            answer = server.api.request(method, re.sub("{.*?}", "x", template))
            if answer.headers["content-type"] != PROBLEM_MEDIA_TYPE or "decided-at-home" not in answer.text:
                taken.append((method, template))
    assert sorted(taken) == OF_COLLECTORS
    refused = [server.api.post("/v1/workloads", json={}), server.api.get(f"{path}/rounds/0/estimates")]
    for answer in refused:
        check_problem(answer, Problem.DECIDED_AT_HOME, regions.home.address)
    assert server.api.get("/console/").status_code == 404
    for public in (path, f"{path}/task", "/v1/populations/travellers/open"):
        assert server.anonymous.get(public).status_code == 200
    listed = server.anonymous.get("/v1/populations/travellers/open").content
    assert bytes.fromhex(campaign["id"]) in listed
    assert server.api.get("/v1/campaigns").json()["campaigns"][0]["state"] == "open"
    assert server.api.get("/v1/keys").status_code == 200


def test_a_home_that_is_down_is_waited_for(regions: Regions) -> None:
    """The round ends at the time that the home set, nothing counts after it, and its sums come later."""
    campaign = regions.campaign("open", close_after_s=3600)
    regions.work()
    eu = regions.collectors["eu"]
    opened = regions.home.clock.now()
    assert task(eu, campaign).accept_until == opened + 3600
    eu.cable.is_cut = True
    regions.home.clock.advance(3599)
    regions.work()
    assert eu.server.report(campaign, [0] * 7).status_code == 200
    regions.home.clock.advance(1)
    regions.work()
    assert eu.server.report(campaign, [0]).status_code == Problem.ROUND_NOT_OPEN.status
    assert task(eu, campaign).round is None
    assert regions.shown(campaign)["rounds"][0]["waiting_for"] == ["eu"]
    regions.home.clock.advance(3600)
    eu.cable.is_cut = False
    regions.work()
    [done] = regions.shown(campaign)["rounds"]
    assert (done["state"], done["reports"]) == ("estimated", 7)


def test_a_home_that_does_not_answer_keeps_no_round_open(regions: Regions) -> None:
    """The round's time is over while the collector waits for an answer about the campaign of its first key."""
    regions.campaign("open", name="other")
    campaign = regions.campaign("open", close_after_s=3600)
    regions.work()
    eu, seen = regions.collectors["eu"], []

    def waited(request: HttpRequest) -> None:
        seen.append(task(eu, campaign).round)
        assert request.within_s <= 30
        regions.home.clock.advance(3600)

    eu.cable.before, eu.cable.is_cut = waited, True
    eu.worker(regions.home.address).look()
    assert seen == [0, None]


def test_a_round_without_an_end_ends_when_the_home_is_silent_for_too_long(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    eu = regions.collectors["eu"]
    eu.server.report(campaign, [0] * 7)
    eu.cable.is_cut = True
    limit = eu.server.settings.collect_offline_s
    regions.home.clock.advance(limit - 1)
    regions.work()
    assert task(eu, campaign).round == 0
    regions.home.clock.advance(1)
    regions.work()
    assert task(eu, campaign).round is None
    eu.cable.is_cut = False
    regions.work()
    # The home still takes reports of its own; what was closed here stays closed, and its sums are there.
    shown = regions.shown(campaign)["rounds"][0]
    assert (shown["state"], shown["reports"]) == ("open", 7)
    assert task(eu, campaign).round is None


class Killed(BaseException):
    """As SIGKILL: nothing after it runs, not even what handles errors."""


@pytest.mark.parametrize(
    ("regions", "when"), [("sqlite", "before"), ("sqlite", "after"), ("postgres", "after")], indirect=["regions"]
)
def test_sums_of_a_killed_collector_count_once(regions: Regions, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = regions.campaign("open")
    regions.work()
    report(regions, campaign)
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    eu = regions.collectors["eu"]
    worker = eu.worker(regions.home.address)
    send = worker.home.send

    def killed(*arguments: Any) -> None:
        if when == "after":
            send(*arguments)
        raise Killed

    monkeypatch.setattr(worker.home, "send", killed)
    with pytest.raises(Killed):
        worker.step()
    regions.work()
    expected = [] if when == "after" else ["eu"]
    assert regions.shown(campaign)["rounds"][0]["waiting_for"] == expected
    regions.home.clock.advance(eu.server.settings.lease_s + 1)
    regions.work()
    [done] = regions.shown(campaign)["rounds"]
    assert (done["state"], done["reports"]) == ("estimated", 270)
    everything = payloads(regions, campaign)
    part = regions.home.device_part(campaign)
    one = Aggregate(len(everything), accumulate(part.randomizer, everything))
    assert regions.sums(campaign).to_bytes() == one.to_bytes()


def test_keys_of_others_mirror_and_send_nothing(regions: Regions, caplog: Any) -> None:
    campaign = regions.campaign("open")
    eu, us = regions.collectors.values()
    eu.keys, right = [us.keys[0], regions.home.admin_key, "sdo_aggregator_x_y"], eu.keys
    regions.work()
    assert eu.server.api.get("/v1/campaigns").json()["campaigns"] == []
    worker = eu.worker(regions.home.address)
    worker.look()
    told = list(worker.looks.told.values())
    assert "the key is of source us, and this server collects as eu" in told[0]
    assert "belongs to no source" in told[1]
    assert "answers 401" in told[2]
    eu.keys = right
    regions.work()
    assert task(eu, campaign).round == 0
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    regions.work_of(eu)
    assert regions.shown(campaign)["rounds"][0]["waiting_for"] == ["us"]


def test_a_running_collector_learns_of_new_keys(regions: Regions, tmp_path: Path) -> None:
    """A key of a further campaign, and one in place of a revoked one, count from the next look on."""
    eu, file = regions.collectors["eu"], tmp_path / "keys"
    file.write_text("# none yet\n")
    keys = {"aggregator_keys": None, "aggregator_keys_file": file, "collect_every_s": 1e-9}
    settings = eu.server.settings.model_copy(update=keys)
    worker = Collector.for_home(Home(regions.home.address, eu.cable), eu.server.database, eu.server.clock, settings)
    campaign = regions.campaign("open")
    worker.step()
    assert eu.server.api.get("/v1/campaigns").json()["campaigns"] == []
    file.write_text(f"{eu.keys[0]}\n")
    worker.step()
    assert task(eu, campaign).round == 0
    file.unlink()
    other = regions.campaign("open", name="other")
    worker.step()
    assert "cannot be read" in "".join(worker.looks.told.values())
    assert list(worker.looks.keys) == [campaign["id"]]
    regions.home.api.delete(f"/v1/keys/{eu.keys[0].split('_')[2]}").raise_for_status()
    file.write_text(f"{regions.key(campaign['id'], 'eu')}\n{eu.keys[1]}\n")
    eu.server.report(campaign, [0] * 7)
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    while worker.step():
        pass
    assert task(eu, other).round == 0
    assert regions.shown(campaign)["rounds"][0]["waiting_for"] == ["us"]


def test_a_campaign_opens_once_each_collector_has_a_key(regions: Regions, check_problem: Any) -> None:
    campaign = regions.campaign()
    regions.home.api.delete(f"/v1/keys/{regions.collectors['us'].keys[0].split('_')[2]}").raise_for_status()
    path = f"/v1/campaigns/{campaign['id']}/open"
    check_problem(regions.home.api.post(path), Problem.ILLEGAL_TRANSITION, "us cannot collect yet", "--source NAME")
    wrong = {"name": "x", "role": "aggregator", "campaign": campaign["id"], "source": "de", "max_reports": 5}
    check_problem(regions.home.api.post("/v1/keys", json=wrong), Problem.INVALID_REQUEST, "names: eu, us")
    regions.key(campaign["id"], "us")
    assert regions.home.api.post(path).status_code == 200


def test_terms_that_several_servers_cannot_keep_are_refused(regions: Regions, check_problem: Any) -> None:
    order = {"name": "n", "purpose": "p", "population": "q", "plan_request": regions.home.ready_plan()["id"]}
    servers = [{"name": "de", "urls": ["https://de.example"]}, {"name": "eu", "urls": ["https://eu.example"]}]

    def refused(*mentioned: str, **terms: Any) -> None:
        answer = regions.home.api.post("/v1/campaigns", json=order | {"servers": servers} | terms)
        check_problem(answer, Problem.INVALID_REQUEST, *mentioned)

    refused("know no upload tokens", upload_token=True)
    refused("a series has one server", series={"slots": 2, "answers_max": 2})
    refused("must be distinct", servers=servers[:1] * 2)
    refused("must look like https://eu", servers=[{"name": "de", "urls": ["https://de.example/"]}])
    refused("lower-case letters", servers=[{"name": "De", "urls": ["https://de.example"]}])
    refused("/servers", servers=[{"name": f"s{n}", "urls": [f"https://s{n}"]} for n in range(17)])


def test_a_home_that_goes_on_without_a_collector_says_so(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    report(regions, campaign)
    eu = regions.collectors["eu"]
    eu.cable.is_cut = True
    path = f"/v1/campaigns/{campaign['id']}"
    regions.home.api.post(f"{path}/close").raise_for_status()
    regions.work()
    regions.home.api.post(f"{path}/rounds/0/waive-sources").raise_for_status()
    regions.home.work()
    [done] = regions.shown(campaign)["rounds"]
    assert (done["state"], done["reports"]) == ("estimated", 180)
    warnings = regions.home.api.get(f"{path}/rounds/0/estimates").json()["extras"]["warnings"]
    assert "source eu sent no sums of round 0: its users are not in the answer" in warnings
    eu.cable.is_cut = False
    regions.work()
    assert regions.shown(campaign, eu.server)["rounds"][0]["state"] == "estimated"
    assert regions.shown(campaign)["rounds"][0]["reports"] == 180


def test_a_campaign_that_is_cancelled_before_it_opens_has_no_pending_round_at_its_collectors(regions: Regions) -> None:
    campaign = regions.campaign()
    regions.work()
    assert regions.shown(campaign, regions.collectors["eu"].server)["rounds"][0]["state"] == "pending"
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/cancel").raise_for_status()
    regions.work()
    for region in regions.collectors.values():
        shown = regions.shown(campaign, region.server)
        assert (shown["state"], shown["rounds"][0]["state"]) == ("cancelled", "cancelled")


def test_a_cancelled_campaign_is_cancelled_at_its_collectors(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    report(regions, campaign)
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/cancel").raise_for_status()
    regions.work()
    for region in regions.collectors.values():
        shown = regions.shown(campaign, region.server)
        assert (shown["state"], shown["rounds"][0]["state"]) == ("cancelled", "cancelled")
        assert task(region, campaign).round is None


def test_a_mirror_that_devices_would_refuse_is_not_taken(regions: Regions, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that seals another plan than the manifest's, or one of a larger ε, finds no collector for it."""
    campaign = regions.campaign("open")
    eu = regions.collectors["eu"]
    other = regions.home.campaign(epsilon=2)
    worker = eu.worker(regions.home.address)
    mirror = worker.home.mirror(eu.keys[0])
    [sealed], [wrong] = mirror.rounds, other["rounds"]
    digests = {"device_digest": wrong["device_digest"], "analyst_digest": wrong["analyst_digest"]}
    forged = mirror.model_copy(update={"rounds": [sealed.model_copy(update=digests)]})
    monkeypatch.setattr(worker.home, "mirror", lambda key: forged)
    worker.look()
    assert "spends more than the manifest's" in next(iter(worker.looks.told.values()))
    assert eu.server.api.get("/v1/campaigns").json()["campaigns"] == []
    assert campaign["id"] == forged.campaign


@pytest.mark.parametrize("name", [name for name, why in UNBUILT.items() if why is not None])
def test_a_mirror_of_what_is_not_built_is_not_taken(regions: Regions, name: str) -> None:
    """A home of a later version names a campaign that this collector could not collect for: nothing is kept of it."""
    told = look_at(regions, MANIFESTS[name])
    assert told.endswith(str(UNBUILT[name]))


@pytest.mark.parametrize("name", ["shuffled", "shuffled_series"])
def test_a_mirror_of_a_shuffled_campaign_is_not_taken(regions: Regions, name: str) -> None:
    """Its manifest names no collectors: reports reach its one server in one batch."""
    assert "names no collector eu" in look_at(regions, MANIFESTS[name])


def look_at(regions: Regions, manifest: Manifest) -> str:
    """What a collector says of a home that mirrors this manifest; nothing of it is kept."""
    regions.campaign("open")
    eu = regions.collectors["eu"]
    worker = eu.worker(regions.home.address)
    forged = worker.home.mirror(eu.keys[0]).model_copy(update={"campaign": str(manifest.campaign)})
    worker.home.mirror = lambda key: forged
    worker.home.document = lambda path, limit, digest: manifest.content
    worker.look()
    assert eu.server.api.get("/v1/campaigns").json()["campaigns"] == []
    return str(next(iter(worker.looks.told.values())))


@pytest.mark.parametrize("campaign", ["../keys?page_size=200", "../../v1/keys", "00" * 31, "A0" * 32, "é", ""])
def test_what_is_no_campaign_never_becomes_a_path(regions: Regions, campaign: str) -> None:
    """A home that answers with other text does not choose what this collector asks for, or whom."""
    regions.campaign("open")
    eu, asked = regions.collectors["eu"], []
    eu.cable.before = lambda request: asked.append(request.path)
    worker = eu.worker(regions.home.address)
    forged = worker.home.mirror(eu.keys[0]).model_copy(update={"campaign": campaign})
    worker.home.mirror = lambda key: forged
    worker.look()
    assert asked == ["/v1/mirror"]
    assert "digest" in next(iter(worker.looks.told.values()))


def test_a_lying_collector_moves_answers_no_further_than_fake_reports(regions: Regions, check_problem: Any) -> None:
    """Sums that no reports have are refused, and so are more than the source may have; others are bounded by f·m."""
    campaign = regions.campaign("open")
    regions.work()
    report(regions, campaign)
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    eu, us = regions.collectors.values()
    regions.work_of(us)
    part, honest = regions.home.device_part(campaign), len(CELLS["eu"])
    truth = Aggregate(honest, accumulate(part.randomizer, payloads_of(regions, campaign, eu.server)))
    others = regions.sums(campaign)

    def lie(count: int, sums: list[int]) -> httpx.Response:
        document = AggregateDocument(
            campaign=CampaignId.parse(campaign["id"]),
            round=0,
            device_digest=part.digest,
            source="eu",
            number=1,
            count=count,
            sums=np.array(sums, dtype="<i8").tobytes(),
            manifest=None,
            parts=(),
            parts_in_all=0,
        )
        with regions.home.client(eu.keys[0]) as client:
            headers = {"Content-Type": CBOR_MEDIA_TYPE}
            path = f"/v1/campaigns/{campaign['id']}/rounds/0/aggregates"
            return client.post(path, content=document.content, headers=headers)

    size = part.randomizer.accumulator_size
    rest = [0] * (size - 2)
    check_problem(lie(honest, [2 * honest, -honest, *rest]), Problem.INVALID_REQUEST, f"from 0 to {honest}")
    check_problem(lie(honest, [honest, 1, *rest]), Problem.INVALID_REQUEST, f"not to {honest + 1}")
    check_problem(lie(LIMIT + 1, [LIMIT + 1, 0, *rest]), Problem.INVALID_REQUEST, f"may have {LIMIT}")
    assert lie(honest, [0, honest, *rest]).status_code == 201
    regions.home.work()
    shown = regions.home.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates").raise_for_status().json()
    with regions.home.database.read() as session:
        row = rounds.find(session, campaign["id"], 0)
        analyst = plans.analyst_part(session, row.analyst_digest)
    expected = estimate(part, analyst, others + truth).unbiased
    moved = max(abs(one - other) for one, other in zip(shown["table"]["value"], expected, strict=True))
    request = regions.home.api.get("/v1/plan-requests").json()["plan_requests"][0]
    most = regions.home.api.get(f"/v1/plan-requests/{request['id']}").json()["summary"]["manipulation"]
    share = honest / (others.count + honest)
    assert share * most / 10 < moved <= share * most * (1 + 1e-9)


@ON_EACH_STORE
def test_later_rounds_are_sealed_at_home_and_mirrored(regions: Regions, two_rounds: Any) -> None:
    """The second plan follows from the sums of all three servers, and every server serves it."""
    request = two_rounds.ready_request(regions.home.database)
    campaign = regions.campaign("open", plan_request=request)
    path = f"/v1/campaigns/{campaign['id']}/rounds"
    eu = regions.collectors["eu"]
    regions.work()
    for index in (0, 1):
        cells = {name: [cell % 3 for cell in each] for name, each in CELLS.items()}
        regions.home.report(campaign, cells["de"], seed=1, index=index)
        for seed, (name, region) in enumerate(regions.collectors.items(), start=2):
            assert region.server.report(campaign, cells[name], seed=seed, index=index).status_code == 200
        if index == 0:
            assert len(task(eu, campaign).device_parts) == 1
        regions.home.api.post(f"{path}/{index}/close").raise_for_status()
        regions.work()
        assert regions.shown(campaign)["rounds"][index]["reports"] == 270
        regions.work()
    sealed = two_rounds.second(regions.sums(campaign).sums).device
    assert task(eu, campaign).device_parts[1] == sealed.digest
    assert [each["state"] for each in regions.shown(campaign, eu.server)["rounds"]] == ["estimated", "estimated"]
    closed = [ClosedRound(two_rounds.first, regions.sums(campaign, index)) for index in (0, 1)]
    answer = regions.home.api.get(f"/v1/campaigns/{campaign['id']}/estimates").raise_for_status().json()
    assert answer["table"]["value"] == [two_rounds.answer(tuple(closed)).value]
    manifest = Manifest.read(eu.server.anonymous.get(f"/v1/campaigns/{campaign['id']}").content)
    plan = f"/v1/protocol-plans/{manifest.protocol}"
    assert eu.server.anonymous.get(plan).raise_for_status().content == regions.home.anonymous.get(plan).content


def test_an_auditor_needs_no_other_server(regions: Regions) -> None:
    campaign = regions.campaign("open")
    regions.work()
    done = CliRunner().invoke(app, ["audit", campaign["id"], "--server", regions.collectors["eu"].server.address])
    assert done.exit_code == 0, done.output
    assert "published values hold" in done.output


def test_a_round_that_cannot_be_sent_says_why_and_is_tried_again_when_asked(
    regions: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the reason it would be claimed again at every step, and nobody would learn of it."""
    campaign = regions.campaign("open")
    regions.work()
    eu = regions.collectors["eu"]
    assert eu.server.report(campaign, [0] * 7).status_code == 200
    regions.home.api.post(f"/v1/campaigns/{campaign['id']}/rounds/0/close").raise_for_status()

    def damaged(*_: Any) -> Any:
        raise InvalidValue("the log of the round is damaged: restore it")

    with monkeypatch.context() as patch:
        patch.setattr("sordino_server.jobs.collector.sending.document_of", damaged)
        regions.work_of(eu)
    [closed] = regions.shown(campaign, eu.server)["rounds"]
    assert (closed["state"], closed["error"]) == ("closed", "the log of the round is damaged: restore it")
    regions.work()
    assert regions.shown(campaign)["rounds"][0]["waiting_for"] == ["eu"]
    eu.server.api.post(f"/v1/campaigns/{campaign['id']}/rounds/0/retry").raise_for_status()
    regions.work()
    [done] = regions.shown(campaign)["rounds"]
    assert (done["state"], done["reports"]) == ("estimated", 7)
