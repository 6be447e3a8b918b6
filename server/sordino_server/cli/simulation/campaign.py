"""One campaign of any kind of question from workload to estimate, with devices that hold known values."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.plan_summary import AnySummary, read_summary
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan, read_protocol_plan
from sordino_analysis.kinds.base import KindOfQuestion, SimulatedUsers
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.kinds.reading import estimate_of
from sordino_analysis.questions.linear.numbers.clipping import ClippedNumbers, clipped_numbers
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.request_terms import MOST_QUESTIONS
from sordino_analysis.requests import kind_of_question
from sordino_server.cli.remote import Remote, RemoteProblem
from sordino_server.cli.simulation.devices import Fleet, SentReports, run_apps, simulated_fleet
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.wait import TIMEOUT_S, Patience
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.quantities import quantity

_APPS, _USERS_AN_APP = 40, 20
# How long a simulation waits for a second in which no campaign of the same terms was created.
_SAME_TERMS_S = 5


@dataclass(frozen=True, kw_only=True)
class CampaignTerms:
    """What is asked of whom: `plan` is the plan request without its workload, with a seed."""

    question: WrittenQuestion
    plan: Mapping[str, Any]
    name: str
    purpose: str
    population: str

    @cached_property
    def kind(self) -> KindOfQuestion:
        """The kind of the question."""
        return kind_of_question(self.question)


@dataclass(frozen=True, kw_only=True)
class CampaignResult:
    """A finished campaign: the plan's summary, what was sent, and the estimate beside the truth.

    `document` is the estimate as the server has it; `estimate` has instead the answers that were asked for where that
    lists none. `clipped` says how many devices hold numbers out of a range.
    """

    campaign: str
    question_name: str
    kind: KindOfQuestion
    plan: AnySummary
    apps: SentReports
    fleet: SentReports
    document: Mapping[str, Any]
    estimate: EstimateDocument
    comparison: TruthComparison
    clipped: tuple[ClippedNumbers, ...]
    seconds: Mapping[str, float]

    @cached_property
    def judgement(self) -> JudgedEstimate:
        """What the kind says of the estimate beside the truth."""
        return self.kind.judged(self.estimate, self.comparison)


@dataclass(frozen=True)
class Devices:
    """What each device holds; the first `apps` run the SDK as an app, with a ledger file each in `ledgers`."""

    values: Sequence[object]
    apps: int
    ledgers: Path


def run_campaign(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages, noise: int = 0
) -> CampaignResult:
    """Plan, open, have all devices answer every round, and compare the estimate with the truth.

    Campaigns with the same seed in their terms and another number for `noise` have other reports.
    """
    clock = StageClock()
    plan, campaign = publish(remote, terms, stages)
    stages.note(f"{quantity(len(devices.values), 'device')}: {plan.forecast(len(devices.values))}")
    clock.lap("plan")
    # Seeds of different terms and different noise do not meet: 2³² seeds lie between those of two campaigns.
    seed = int(terms.plan["seed"]) + (noise << 32)
    with (
        open_campaign(remote, campaign) as path,
        simulated_fleet(address, campaign, devices.values[devices.apps :], seed) as many,
    ):
        status = remote.get(f"{path}/status")
        apps, fleet = _answer_rounds(remote, address, status, devices, many, stages, clock)
    users = SimulatedUsers(
        asked=terms.question,
        domain=many.domain,
        values=devices.values,
        protocol=_protocol(remote, status["protocol"]),
    )
    compared = beside_truth(remote, campaign, terms.kind, users, stages)
    clock.lap("estimates")
    return CampaignResult(
        campaign=campaign, question_name=terms.question.name, plan=plan, apps=apps, fleet=fleet, seconds=clock.laps,
        **compared,
    )  # fmt: skip


def beside_truth(
    remote: Remote, campaign: str, kind: KindOfQuestion, users: SimulatedUsers, stages: Stages
) -> dict[str, Any]:
    """The members of a result that say what the server estimates of the users, and what is true of them."""
    with stages.stage("estimating"):
        document = remote.awaited_estimates(campaign, None, Patience())
    estimate = estimate_of(document)
    if asked := kind.asked_of_reports(users.asked, users.values):
        with stages.stage(f"asking for {len(asked)} values that most devices hold"):
            estimate = _asked_for(remote, campaign, estimate, asked)
    comparison = TruthComparison.of(kind.truth(users, estimate), estimate)
    clipped = clipped_numbers(users.domain, users.values)
    return {
        "kind": kind, "document": document, "estimate": estimate, "comparison": comparison, "clipped": clipped
    }  # fmt: skip


@contextmanager
def open_campaign(remote: Remote, campaign: str) -> Iterator[str]:
    """Open the campaign; its path. If what follows fails, cancel it: nothing stays open on a server that others use."""
    path = f"/v1/campaigns/{campaign}"
    try:
        remote.post(f"{path}/open")
        yield path
    except BaseException:
        with suppress(SordinoError):
            remote.post(f"{path}/cancel")
        raise


def check_users(users: int) -> None:
    """At least two devices, and not more than one machine can play."""
    if not 2 <= users <= 10_000_000:
        raise InvalidValue(f"a simulation needs 2 to 10,000,000 devices, not {users}", users)


def apps_among(users: int) -> int:
    """Devices of a demo that run the SDK: each takes a ledger and a connection, so that a small demo has fewer."""
    return min(_APPS, max(1, users // _USERS_AN_APP))


def publish(remote: Remote, terms: CampaignTerms, stages: Stages) -> tuple[AnySummary, str]:
    """The plan's summary, and the id of the new campaign that uses it."""
    summary, plan_request = planned(remote, terms.question, terms.plan, stages)
    return summary, created(remote, terms, plan_request)


def planned(
    remote: Remote, question: WrittenQuestion, options: Mapping[str, Any], stages: Stages
) -> tuple[AnySummary, str]:
    """The plan's summary, and the id of its request."""
    workload = remote.post("/v1/workloads", question.canonical())["id"]
    plan_request = remote.post("/v1/plan-requests", {"workload": workload, **options})["id"]
    summary: object = None
    patience = Patience(TIMEOUT_S + (options.get("time_limit") or 0))
    with stages.stage("planning") as progress:
        for state in remote.plan_progress(plan_request, patience):
            progress(state["progress"])
            summary = state["summary"]
    return read_summary(json.dumps(summary)), plan_request


def created(remote: Remote, terms: CampaignTerms, plan_request: str, **more: Any) -> str:
    """The id of a new campaign with the plan; `more` are members of the order.

    A campaign's id covers its terms and the second, so that the same simulation again waits for the next second.
    """
    order = {"name": terms.name, "purpose": terms.purpose, "population": terms.population}
    order |= {"plan_request": plan_request, **more}
    until = time.monotonic() + _SAME_TERMS_S
    while True:
        try:
            campaign: str = remote.post("/v1/campaigns", order)["id"]
        except RemoteProblem as problem:
            if problem.slug != "already-exists" or time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return campaign


def answer_as_apps(address: str, campaign: str, devices: Devices, stages: Stages) -> SentReports:
    """The devices that run the SDK as apps answer the open round."""
    values = devices.values[: devices.apps]
    if not values:
        return SentReports(0, 0.0)
    with stages.stage(f"{quantity(len(values), 'device')} as apps") as progress:
        return run_apps(address, campaign, values, devices.ledgers, progress)


def answer_as_fleet(fleet: Fleet, stages: Stages) -> SentReports:
    """The devices that are no apps answer the open round."""
    if not fleet.size:
        return SentReports(0, 0.0)
    with stages.stage(f"{quantity(fleet.size, 'device')} in batches") as progress:
        return fleet.answer(progress)


def _answer_rounds(
    remote: Remote,
    address: str,
    status: Mapping[str, Any],
    devices: Devices,
    many: Fleet,
    stages: Stages,
    clock: StageClock,
) -> tuple[SentReports, SentReports]:
    """Have the devices answer each round and close it; the reports of apps and of the fleet, over all rounds."""
    campaign, apps, fleet = status["id"], SentReports(0, 0.0), SentReports(0, 0.0)
    for index in range(status["planned_rounds"]):
        if index:
            with stages.stage(f"planning round {index}"):
                remote.awaited_round(campaign, index, Patience())
            clock.lap("plan")
        apps += answer_as_apps(address, campaign, devices, stages)
        fleet += answer_as_fleet(many, stages)
        clock.lap("devices")
        remote.post(f"/v1/campaigns/{campaign}/rounds/{index}/close")
    return apps, fleet


def _protocol(remote: Remote, digest: str | None) -> AnyProtocolPlan | None:
    if digest is None:
        return None
    return read_protocol_plan(remote.content(f"/v1/protocol-plans/{digest}", AnalystPart.limit))


def _asked_for(remote: Remote, campaign: str, estimate: EstimateDocument, texts: Sequence[str]) -> EstimateDocument:
    """The estimate with the server's answers to the cells as its table, the texts as labels."""
    rows: list[dict[str, Any]] = []
    for first in range(0, len(texts), MOST_QUESTIONS):
        some = list(texts[first : first + MOST_QUESTIONS])
        table = remote.get(f"/v1/campaigns/{campaign}/answers", cell=some)["table"]
        answers = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
        rows += [each | {"label": text} for each, text in zip(answers, some, strict=True)]
    return EstimateDocument.of_rows(estimate.kind, rows, estimate.extras, **estimate.terms)


class StageClock:
    """Seconds from one lap to the next."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """The time since the last lap was spent on `name`, perhaps not for the first time."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._since
        self._since = now
