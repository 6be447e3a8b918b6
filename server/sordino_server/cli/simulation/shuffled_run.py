"""A simulated campaign behind a shuffler: both programs, devices that report to the one, an estimate of the other."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from sordino_analysis.documents.price_of_locality import PriceOfLocality
from sordino_analysis.kinds.base import SimulatedUsers
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import (
    CampaignResult,
    CampaignTerms,
    Devices,
    StageClock,
    answer_as_apps,
    answer_as_fleet,
    beside_truth,
    created,
    open_campaign,
    planned,
)
from sordino_server.cli.simulation.devices import simulated_fleet
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.server_process import create_key
from sordino_server.cli.simulation.shuffler_process import LocalShuffler
from sordino_server.cli.wait import Patience
from sordino_server.kit.clock import WallClock
from sordino_shared.errors import SordinoError
from sordino_shared.quantities import quantity

USERS = 3_000
NAME = "mix"
# Seconds from the campaign's creation to its end: a start of the shuffler, and so many devices on a busy machine.
_LEAST_S, _DEVICES_A_SECOND = 25, 250
_POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class ShuffledResult(CampaignResult):
    """A finished campaign behind a shuffler, with its batch, and what the same error takes with other trust."""

    batch: Mapping[str, Any]
    price: PriceOfLocality


def run_shuffled(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages
) -> ShuffledResult:
    """Plan, start a shuffler, have all devices report to it, and compare the estimate with the truth.

    The server's database is in the folder above the ledgers, and the shuffler's files beside it.
    """
    clock, folder, users = StageClock(), devices.ledgers.parent, len(devices.values)
    plan, request = planned(remote, terms.question, terms.plan, stages)
    price = _price(remote, terms, stages)
    shuffler = LocalShuffler.prepared(folder / "shuffler")
    clock.lap("plan")
    end = WallClock().now() + _LEAST_S + math.ceil(users / _DEVICES_A_SECOND)
    floor = max(1, users // 2)
    route = {"name": NAME, "urls": [shuffler.address], "key": shuffler.key, "floor": floor, "end": end}
    campaign = created(remote, terms, request, route=route)
    with ExitStack() as opened:
        opened.enter_context(open_campaign(remote, campaign))
        with stages.stage("starting the shuffler"):
            key = create_key(folder, "shuffler", "--campaign", campaign)
            opened.enter_context(shuffler.serving(campaign, address, key))
        seed = int(terms.plan["seed"])
        many = opened.enter_context(simulated_fleet(shuffler.address, campaign, devices.values[devices.apps :], seed))
        apps = answer_as_apps(shuffler.address, campaign, devices, stages)
        fleet = answer_as_fleet(many, stages)
        clock.lap("devices")
        _await_end(end, stages)
        batch = _awaited_batch(remote, campaign, stages)
        clock.lap("round")
    simulated = SimulatedUsers(asked=terms.question, domain=many.domain, values=devices.values, protocol=None)
    compared = beside_truth(remote, campaign, terms.kind, simulated, stages)
    clock.lap("estimates")
    return ShuffledResult(
        campaign=campaign, question_name=terms.question.name, plan=plan, apps=apps, fleet=fleet, seconds=clock.laps,
        batch=batch, price=price, **compared,
    )  # fmt: skip


def _price(remote: Remote, terms: CampaignTerms, stages: Stages) -> PriceOfLocality:
    """Users for the same error and privacy, by whom they trust: begins with a plan without a shuffler."""
    target = terms.plan["collector"]
    options = {"epsilon": target["epsilon"], "objective": terms.plan["objective"], "seed": terms.plan["seed"]}
    _, local = planned(remote, terms.question, options, stages)
    found = remote.get(
        f"/v1/plan-requests/{local}/price-of-locality",
        target_error=terms.plan["target_error"],
        delta=target["delta"],
    )
    return PriceOfLocality.model_validate(found, strict=False)


def _await_end(end: int, stages: Stages) -> None:
    """Wait for the round's end, which the manifest fixes."""
    left, started = max(0, end - WallClock().now()), time.monotonic()
    with stages.stage(f"{quantity(left, 'second')} to the end of the round") as advance:
        while (passed := time.monotonic() - started) < left:
            advance(passed / left)
            time.sleep(_POLL_S)


def _awaited_batch(remote: Remote, campaign: str, stages: Stages) -> Mapping[str, Any]:
    """The batch once it is counted; raises SordinoError where nothing was released."""
    patience, later = Patience(), f"look again with: sordino campaigns show {campaign}"
    with stages.stage("waiting for the shuffler's batch"):
        while True:
            row = remote.get(f"/v1/campaigns/{campaign}/status")["rounds"][0]
            if row["error"]:
                raise SordinoError(f"the round failed: {row['error']}")
            batch: Mapping[str, Any] = row["batch"]
            if batch["state"] == "counted":
                return batch
            patience.pause("the shuffler has not handed its batch on yet", later)
