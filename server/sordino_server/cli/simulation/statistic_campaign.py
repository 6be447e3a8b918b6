"""One campaign for a pairwise statistic, through all its rounds, with devices that hold known values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import (
    CampaignTerms,
    Devices,
    StageClock,
    answer_rounds,
    open_campaign,
    publish,
)
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.wait import Patience


@dataclass(frozen=True, kw_only=True)
class StatisticResult:
    """A finished campaign: figures of the plan, the estimates document, the truth in its bins, reports by source."""

    campaign: str
    plan: Mapping[str, Any]
    estimates: Mapping[str, Any]
    truth: float
    app_reports: int
    fleet_reports: int
    seconds: Mapping[str, float]

    @property
    def error(self) -> float | None:
        """Distance of the estimate from the binned truth; None where no value was published."""
        value = self.estimates["value"]
        return None if value is None else abs(float(value) - self.truth)

    @property
    def inside(self) -> bool:
        """Whether the interval holds the binned truth."""
        low, high = self.estimates["interval"]
        return bool(low <= self.truth <= high)


def run_statistic_campaign(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages
) -> StatisticResult:
    """Plan, open, have the devices answer every round, and compare the estimate with the truth.

    A campaign that fails half-way is cancelled, so that nothing stays open on a server that others use.
    """
    clock = StageClock()
    plan, campaign = publish(remote, terms, stages)
    truth = _truth(remote, plan, devices)
    clock.lap("plan")
    with open_campaign(remote, campaign):
        apps, fleet = answer_rounds(remote, address, campaign, len(plan["rounds"]), terms, devices, stages, clock)
    with stages.stage("estimating"):
        estimates = remote.awaited_estimates(campaign, None, Patience())
    clock.lap("estimates")
    return StatisticResult(
        campaign=campaign,
        plan=plan,
        estimates=estimates,
        truth=truth,
        app_reports=apps,
        fleet_reports=fleet,
        seconds=clock.laps,
    )


def _truth(remote: Remote, plan: Mapping[str, Any], devices: Devices) -> float:
    """The statistic over the devices, in the bins that the plan settled on."""
    whole = remote.get(f"/v1/protocol-plans/{plan['digest']}")
    statistic: PairwiseStatistic = parse_statistic(whole["statistic"]).build()
    cells = np.asarray(statistic.domain.encode_many(devices.values))
    counts = np.bincount(cells, minlength=statistic.size).astype(float)
    if whole["target"] == "pairs":
        return statistic.of_pairs(counts)
    return statistic.of_histogram(counts / counts.sum())
