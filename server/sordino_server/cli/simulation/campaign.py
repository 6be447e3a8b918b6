"""One campaign from workload to estimates, with devices that hold known values."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.candidates import answers_for, candidates, lists_items, shares_of
from sordino_server.cli.simulation.comparison import TruthComparison
from sordino_server.cli.simulation.devices import Fleet, SentReports, run_apps, simulated_fleet
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.truth import truth_of
from sordino_server.cli.wait import TIMEOUT_S, Patience
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.quantities import quantity


@dataclass(frozen=True, kw_only=True)
class CampaignTerms:
    """What is asked of whom: `plan` is the plan request without its workload, with a seed."""

    specification: Mapping[str, Any]
    plan: Mapping[str, Any]
    name: str
    purpose: str
    population: str


@dataclass(frozen=True, kw_only=True)
class CampaignResult:
    """A finished campaign: the plan's figures, both uploads, the estimates document, its comparison with the truth."""

    campaign: str
    plan: Mapping[str, Any]
    apps: SentReports
    fleet: SentReports
    estimates: Mapping[str, Any]
    comparison: TruthComparison
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Devices:
    """What each device holds; the first `apps` run the SDK as an app, with a ledger file each in `ledgers`."""

    values: Sequence[object]
    apps: int
    ledgers: Path


def run_campaign(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages, noise: int = 0
) -> CampaignResult:
    """Plan, open, have all devices answer, close, and compare the estimates with the truth.

    Campaigns with the same seed in their terms and another number for `noise` have other reports.
    """
    workload = parse_specification(terms.specification).build()
    asked = [] if lists_items(workload) else candidates(workload.domain, devices.values)
    # Seeds of different terms and different noise do not meet: 2³² seeds lie between those of two campaigns.
    seed, clock = int(terms.plan["seed"]) + (noise << 32), StageClock()
    plan, campaign = publish(remote, terms, stages)
    clock.lap("plan")
    with open_campaign(remote, campaign) as path:
        apps = answer_as_apps(address, campaign, devices, stages)
        with simulated_fleet(address, campaign, devices.values[devices.apps :], seed) as many:
            fleet, domain = answer_as_fleet(many, stages), many.domain
        clock.lap("devices")
        remote.post(f"{path}/close")
    with stages.stage("closing the round and estimating"):
        estimates = remote.awaited_estimates(campaign, 0, Patience())
    answers = estimates["queries"]
    if asked:
        with stages.stage(f"asking for {len(asked)} values that most devices hold"):
            answers = answers_for(remote, campaign, asked)
        truth = np.array(shares_of(domain, devices.values, asked))
    else:
        truth = truth_of(workload, domain, devices.values, answers)
    clock.lap("estimates")
    comparison = TruthComparison.of(truth, answers)
    return CampaignResult(
        campaign=campaign,
        plan=plan,
        apps=apps,
        fleet=fleet,
        estimates=estimates,
        comparison=comparison,
        seconds=clock.laps,
    )


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


def publish(remote: Remote, terms: CampaignTerms, stages: Stages) -> tuple[Mapping[str, Any], str]:
    """The plan's summary, and the id of the new campaign that uses it."""
    workload = remote.post("/v1/workloads", terms.specification)["id"]
    plan_request = remote.post("/v1/plan-requests", {"workload": workload, **terms.plan})["id"]
    summary: Mapping[str, Any] = {}
    patience = Patience(TIMEOUT_S + (terms.plan.get("time_limit") or 0))
    with stages.stage("planning the mechanism") as progress:
        for state in remote.plan_progress(plan_request, patience):
            progress(state["progress"])
            summary = state["summary"]
    order = {"name": terms.name, "purpose": terms.purpose, "population": terms.population}
    campaign: str = remote.post("/v1/campaigns", order | {"plan_request": plan_request})["id"]
    return summary, campaign


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


def answer_rounds(
    remote: Remote,
    address: str,
    campaign: str,
    rounds: int,
    terms: CampaignTerms,
    devices: Devices,
    stages: Stages,
    clock: StageClock,
) -> tuple[int, int]:
    """Have the devices answer each round and close it; the reports of apps and of the fleet, over all rounds."""
    apps = fleet = 0
    with simulated_fleet(address, campaign, devices.values[devices.apps :], int(terms.plan["seed"])) as many:
        for index in range(rounds):
            if index:
                with stages.stage(f"planning round {index}"):
                    remote.awaited_round(campaign, index, Patience())
                clock.lap("plan")
            apps += answer_as_apps(address, campaign, devices, stages).reports
            fleet += answer_as_fleet(many, stages).reports
            clock.lap("devices")
            remote.post(f"/v1/campaigns/{campaign}/rounds/{index}/close")
    return apps, fleet


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
