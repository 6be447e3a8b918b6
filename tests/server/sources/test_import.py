"""Sums from elsewhere: whose they are, which count, what is refused, and whom a closed round waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.keys import service as keys
from sordino_server.keys.source_terms import SourceTerms
from sordino_server.models import Role
from sordino_server.sources import repository
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, Digest, Problem
from tests.patience import PATIENCE_S

EU, LIMIT = "eu", 500


@dataclass
class Region:
    """A campaign of a running server, and a source of it with its key."""

    home: Any
    campaign: dict[str, Any]
    key: str

    @property
    def path(self) -> str:
        return f"/v1/campaigns/{self.campaign['id']}"

    def sums(self, cells: list[int], seed: int = 9, **changes: Any) -> AggregateDocument:
        """What devices of the region that hold `cells` add up to."""
        part = self.home.device_part(self.campaign)
        payloads = randomize_many(part.randomizer, np.array(cells, dtype=np.int64), SeededRandomness(seed))
        total = Aggregate(len(cells), accumulate(part.randomizer, payloads))
        document = AggregateDocument(
            campaign=CampaignId.parse(self.campaign["id"]),
            round=0,
            device_digest=part.digest,
            source=EU,
            number=1,
            count=total.count,
            sums=total.to_bytes(),
            manifest=None,
            parts=(),
            parts_in_all=0,
        )
        return replace(document, **changes)

    def send(self, sums: AggregateDocument | bytes, key: str | None = None, index: int = 0) -> httpx.Response:
        """POST of the document, with the source's key unless another one is given."""
        content = sums if isinstance(sums, bytes) else sums.content
        with self.home.client(key or self.key) as client:
            headers = {"Content-Type": CBOR_MEDIA_TYPE}
            return client.post(f"{self.path}/rounds/{index}/aggregates", content=content, headers=headers)

    def round(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.home.api.get(f"{self.path}/status").raise_for_status().json()["rounds"][0]
        return shown

    def close(self) -> None:
        self.home.api.post(f"{self.path}/close").raise_for_status()
        self.home.work()

    def estimate(self) -> httpx.Response:
        answer: httpx.Response = self.home.api.get(f"{self.path}/rounds/0/estimates")
        return answer


def key_of(home: Any, campaign: str, source: str = EU, limit: int = LIMIT) -> str:
    with home.database.write("key") as session:
        return keys.create(
            session, source, Role.AGGREGATOR, home.clock.now(), campaign, SourceTerms(source, limit)
        ).text


def region_of(home: Any) -> Region:
    campaign = home.campaign("open")
    return Region(home, campaign, key_of(home, campaign["id"]))


@pytest.fixture
def region(running: Any) -> Region:
    return region_of(running)


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_the_estimate_is_of_the_reports_of_both(request: pytest.FixtureRequest, engine: str) -> None:
    running = request.getfixturevalue(engine)
    region = region_of(running)
    cells = [0, 1, 2, 3] * 50
    assert running.report(region.campaign, cells[:80], seed=1).status_code == 200
    document = region.sums(cells)
    region.close()
    assert region.round()["waiting_for"] == [EU]
    refused = region.estimate().json()
    assert ("waits for the sums of eu" in refused["detail"], refused["waiting_for"]) == (True, [EU])
    answer = region.send(document)
    assert (answer.status_code, answer.json()["reports"], answer.json()["digest"]) == (201, 200, str(document.digest))
    shown = region.round()
    assert (shown["reports"], shown["waiting_for"], shown["sources"][0]["source"]) == (280, [], EU)
    running.work()
    estimate = region.estimate().json()
    sources = estimate["extras"]["sources"]
    assert (estimate["terms"]["users"], sources) == (280, [{"source": EU, "round": 0, "reports": 200}])
    assert not [text for text in estimate["extras"]["warnings"] if "source" in text]


def test_the_same_document_changes_nothing_and_a_newer_one_replaces_it(region: Region, check_problem: Any) -> None:
    first = region.sums([0, 1, 2, 3] * 20)
    assert region.send(first).status_code == 201
    assert region.send(first).status_code == 200
    other = region.sums([0, 1, 2, 3] * 25, seed=3)
    check_problem(region.send(other), Problem.ALREADY_EXISTS, "number 1 is not higher")
    assert region.round()["reports"] == 80
    assert region.send(replace(other, number=2)).status_code == 201
    assert region.round()["reports"] == 100
    check_problem(region.send(first), Problem.ALREADY_EXISTS, "as number 2")
    region.close()
    assert region.estimate().json()["terms"]["users"] == 100
    check_problem(region.send(replace(other, number=3)), Problem.ILLEGAL_TRANSITION, "takes no sums any more")
    assert region.send(replace(other, number=2)).status_code == 200
    entries = region.home.api.get("/v1/audit-log").json()["entries"]
    sent = [(each["role"], each["path"]) for each in entries if each["action"] == "import sums"]
    assert sent == [("aggregator", f"{region.path}/rounds/0/aggregates/{EU}")] * 2


def test_what_is_wrong_with_sums_is_said(region: Region, running: Any, check_problem: Any) -> None:
    good = region.sums([0, 1, 2, 3] * 20)
    sums = np.frombuffer(good.sums, dtype="<i8").copy()
    invalid = Problem.INVALID_REQUEST
    check_problem(region.send(replace(good, round=1)), invalid, "round 1 of campaign")
    check_problem(region.send(replace(good, campaign=CampaignId(Digest.of(b"x")))), invalid, "not of round 0")
    check_problem(
        region.send(replace(good, device_digest=Digest.of(b"x"))), Problem.PLAN_MISMATCH, "made with the plan"
    )
    check_problem(region.send(replace(good, source=None)), invalid, "name no source")
    of_blanket = replace(good, blanket=3)
    check_problem(region.send(of_blanket), invalid, "with 3 reports of a blanket; the campaign has no arms and no")
    check_problem(region.send(replace(good, count=81)), invalid, "sum to 81, not to 80")
    check_problem(region.send(replace(good, sums=good.sums + bytes(8))), invalid, "have 4 sums, not 5")
    check_problem(region.send(replace(good, sums=(sums - [200, 0, 0, -200]).tobytes())), invalid, "from 0 to 80")
    partial = replace(good, manifest=Digest.of(b"m"), parts=(0,), parts_in_all=3)
    check_problem(region.send(partial), invalid, "the sums lack 2 of 3 parts")
    check_problem(region.send(region.sums([0] * (LIMIT + 1))), invalid, f"may have {LIMIT} reports")
    check_problem(region.send(b"\xa0"), Problem.MALFORMED_BODY, "not a aggregate")
    check_problem(region.send(replace(good, round=7), index=7), Problem.NOT_FOUND, "no round 7")
    json = running.api.post(f"{region.path}/rounds/0/aggregates", json={})
    check_problem(json, Problem.UNSUPPORTED_MEDIA_TYPE, CBOR_MEDIA_TYPE)
    assert region.round()["reports"] == 0


def test_a_key_is_for_one_campaign_and_one_source(region: Region, running: Any, check_problem: Any) -> None:
    good, other = region.sums([0, 1, 2, 3]), running.campaign("open", epsilon=2)
    for role in (Role.ANALYST, Role.UPLOADER):
        check_problem(region.send(good, running.key(role)), Problem.FORBIDDEN, "role aggregator")
    check_problem(region.send(good, key_of(running, other["id"])), Problem.FORBIDDEN, other["id"])
    check_problem(region.send(good, key_of(running, region.campaign["id"], "us")), Problem.FORBIDDEN, "source us")
    check_problem(region.send(replace(good, source="asia"), running.admin_key), Problem.NOT_FOUND, "no source asia")
    with running.client(region.key) as client:
        check_problem(client.get(f"{region.path}/status"), Problem.FORBIDDEN, "role analyst")
        check_problem(client.get("/v1/keys"), Problem.FORBIDDEN, "role admin")
    assert region.send(good, running.admin_key).status_code == 201


def test_keys_of_aggregators_say_all_they_are_for(region: Region, running: Any, check_problem: Any) -> None:
    whole = {"name": "eu", "role": "aggregator", "campaign": region.campaign["id"], "source": EU, "max_reports": 7}
    made = running.api.post("/v1/keys", json=whole).raise_for_status().json()
    assert (made["source"], made["key"].startswith("sdo_aggregator_")) == (EU, True)
    # The limit of the latest key stands.
    check_problem(region.send(region.sums([0] * 8)), Problem.INVALID_REQUEST, "may have 7 reports")
    wrong: list[dict[str, Any]] = [
        {"campaign": None},
        {"source": None},
        {"max_reports": None},
        {"source": None, "max_reports": None},
        {"max_reports": 0},
        {"source": "EU"},
        {"source": "x" * 25},
        {"role": "uploader"},
    ]
    for change in wrong:
        check_problem(running.api.post("/v1/keys", json=whole | change), Problem.INVALID_REQUEST)
    terms = {"name": "s", "purpose": "p", "population": "q", "series": {"slots": 7, "answers_max": 12}}
    terms["plan_request"] = running.ready_plan()["id"]
    series = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    check_problem(running.api.post("/v1/keys", json=whole | {"campaign": series}), Problem.INVALID_REQUEST, "series")
    unknown = whole | {"campaign": "0" * 64}
    check_problem(running.api.post("/v1/keys", json=unknown), Problem.NOT_FOUND)


def test_two_admins_may_name_a_source_at_once(running_on_postgres: Any) -> None:
    home = running_on_postgres
    campaign = home.campaign()["id"]
    waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with home.database.write("first") as session:
            keys.create(session, EU, Role.AGGREGATOR, 0, campaign, SourceTerms(EU, 1))
            session.flush()
            second = pool.submit(key_of, home, campaign)
            deadline = monotonic() + PATIENCE_S
            while not session.scalar(waits):
                assert monotonic() < deadline
        assert second.result().startswith("sdo_aggregator_")
    with home.database.read() as session:
        assert repository.find(session, campaign, EU).max_reports == LIMIT


def test_a_round_waits_for_its_sources_until_the_deadline(region: Region, running: Any, check_problem: Any) -> None:
    running.report(region.campaign, [0, 1, 2, 3] * 10)
    region.close()
    running.clock.advance(86399)
    running.work()
    assert region.round()["state"] == "closed"
    running.clock.advance(1)
    running.work()
    assert "source eu sent no sums of round 0" in " ".join(region.estimate().json()["extras"]["warnings"])
    assert (region.round()["state"], region.round()["waiting_for"]) == ("estimated", [])
    check_problem(region.send(region.sums([0] * 4)), Problem.ILLEGAL_TRANSITION, "takes no sums any more")


def test_an_analyst_goes_on_without_sums(region: Region, running: Any, check_problem: Any) -> None:
    running.report(region.campaign, [0, 1, 2, 3] * 10)
    path = f"{region.path}/rounds/0/waive-sources"
    check_problem(running.api.post(path), Problem.ILLEGAL_TRANSITION, "round 0 is open and waits for no sums")
    region.close()
    assert running.api.post(path).raise_for_status().json()["rounds"][0]["waiting_for"] == []
    running.work()
    assert region.round()["state"] == "estimated"
    check_problem(running.api.post(path), Problem.ILLEGAL_TRANSITION, "waits for no sums")


def test_a_failed_round_goes_on_with_sums_that_come_late(region: Region, running: Any) -> None:
    document = region.sums([0, 1, 2, 3] * 50)
    region.close()
    running.api.post(f"{region.path}/rounds/0/waive-sources").raise_for_status()
    running.work()
    assert region.round()["error"] is not None
    assert region.send(document).status_code == 201
    running.work()
    assert (region.round()["state"], region.round()["error"]) == ("estimated", None)
    assert region.estimate().json()["terms"]["users"] == 200


def test_a_source_whose_keys_are_revoked_is_not_waited_for(region: Region, running: Any) -> None:
    running.report(region.campaign, [0, 1, 2, 3] * 10)
    region.close()
    assert region.round()["waiting_for"] == [EU]
    for each in running.api.get("/v1/keys").json()["keys"]:
        if each["source"] == EU:
            running.api.delete(f"/v1/keys/{each['id']}").raise_for_status()
    assert region.send(region.sums([0])).status_code == Problem.UNAUTHORIZED.status
    running.work()
    assert (region.round()["state"], region.estimate().json()["extras"]["sources"]) == ("estimated", [])


def test_sums_that_come_while_a_worker_computes_are_in_the_estimate(region: Region, running: Any) -> None:
    """The worker that read the sums before loses the round, so that no estimate is stored without the new ones."""
    from sordino_server import rounds
    from sordino_server.answers import next_step
    from sordino_server.kit.leases import LeaseLost
    from sordino_server.rounds.round_lifecycle import finish

    running.report(region.campaign, [0, 1, 2, 3] * 10)
    region.send(region.sums([0, 1, 2, 3]))
    running.api.post(f"{region.path}/close").raise_for_status()
    database = running.database
    lease = {"owner": "slow", "now": running.clock.now(), "seconds": 60}
    row = database.run("claim", lambda session: rounds.claim_closed_round(session, **lease))
    outcome = next_step.compute(database, row.id)
    assert region.send(region.sums([0, 1, 2, 3] * 5, number=2)).status_code == 201
    with pytest.raises(LeaseLost):
        database.run("finish", lambda session: finish(database, session, row.id, "slow", outcome, 0))
    running.work()
    assert region.estimate().json()["terms"]["users"] == 60


def test_a_source_cannot_hold_the_estimate_beyond_the_deadline(
    region: Region, running: Any, check_problem: Any
) -> None:
    """Each newer document makes a worker begin again: after the deadline there is none."""
    from sordino_server import rounds

    running.report(region.campaign, [0, 1, 2, 3] * 10)
    region.send(region.sums([0, 1, 2, 3]))
    running.api.post(f"{region.path}/close").raise_for_status()
    running.clock.advance(86399)
    assert region.send(region.sums([0] * 4, number=2)).status_code == 201
    running.clock.advance(1)
    lease = {"owner": "slow", "now": running.clock.now(), "seconds": 60}
    row = running.database.run("claim", lambda session: rounds.claim_closed_round(session, **lease))
    newer = region.send(region.sums([0] * 5, number=3))
    check_problem(newer, Problem.ILLEGAL_TRANSITION, "sources_deadline_s to replace them is over")
    running.database.run("give back", lambda session: rounds.give_back(session, row.id, "slow"))
    running.work()
    assert region.estimate().json()["terms"]["users"] == 44


def test_sums_from_elsewhere_do_not_move_the_epoch_or_the_archive(region: Region, running: Any) -> None:
    """What this server logged is counted apart: ids, archives and purges are of its own reports."""
    from sordino_server import aggregates, rounds
    from sordino_server.archives.archiving import archived_round

    running.report(region.campaign, [0, 1, 2, 3] * 10)
    key_of(running, region.campaign["id"], limit=1 << 20)
    part = running.device_part(region.campaign)
    many = 1 << 17
    counts = np.array([many, 0, 0, 0])
    assert region.send(region.sums([0], count=many, sums=counts.astype("<i8").tobytes())).status_code == 201
    with running.database.read() as session:
        row = rounds.find(session, region.campaign["id"], 0)
        assert rounds.epochs_begun(session, row) == 1
    region.close()
    assert archived_round(running.database, region.campaign["id"], 0).counted == 40
    before = aggregates.aggregate(running.database, row.id, part.randomizer)
    assert before.count == many + 40
    aggregates.purge(running.database, row.id, part.randomizer, 5)
    assert aggregates.aggregate(running.database, row.id, part.randomizer).to_bytes() == before.to_bytes()


def test_a_source_that_never_sent_goes_with_a_campaign_that_never_opened(running: Any) -> None:
    campaign = running.campaign()
    key_of(running, campaign["id"])
    assert running.api.delete(f"/v1/campaigns/{campaign['id']}").status_code == 204
