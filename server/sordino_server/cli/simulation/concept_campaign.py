"""One campaign for a concept class, with devices that hold known values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.questions.linear import parse_specification
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
from sordino_shared.quantities import quantity

_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class ConceptResult:
    """A finished campaign: figures of the plan, the estimates document, the true losses by rule, reports by source."""

    campaign: str
    plan: Mapping[str, Any]
    estimates: Mapping[str, Any]
    truth: Mapping[str, float]
    app_reports: int
    fleet_reports: int
    seconds: Mapping[str, float]

    @property
    def best_rule(self) -> str:
        """The rule with the least true loss."""
        return min(self.truth, key=lambda rule: self.truth[rule])

    @property
    def statement_holds(self) -> bool:
        """Whether the truth agrees: a best rule may be the best, and a constant is beaten only if it is."""
        least = min(self.truth.values())
        rules = {rule["text"] for rule in self.estimates["confidence_set"]["rules"]}
        in_set = any(self.truth[rule] == least for rule in rules) or self.estimates["confidence_set"]["truncated"]
        beaten = min(self.truth["never"], self.truth["always"]) > least
        return in_set and (beaten or not self.estimates["beats_base"])

    @property
    def interval_holds(self) -> bool | None:
        """Whether the chosen rule's true loss lies in its interval; None where it has none."""
        if self.estimates["interval"] is None:
            return None
        low, high = self.estimates["interval"]
        return bool(low <= self.truth[self.estimates["rule"]["text"]] <= high)

    @property
    def excess(self) -> float:
        """What the chosen rule's true loss exceeds the least one by."""
        return self.truth[self.estimates["rule"]["text"]] - min(self.truth.values())


def run_concept_campaign(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages
) -> ConceptResult:
    """Plan, open, have the devices answer, close, and compare the estimate with the truth.

    A campaign that fails half-way is cancelled, so that nothing stays open on a server that others use.
    """
    workload, clock = parse_specification(terms.specification).build(), StageClock()
    losses = workload.truth_of_codes(workload.domain.codes_many(devices.values)).tolist()
    plan, campaign = publish(remote, terms, stages)
    summary = LinearSummary.model_validate(plan)
    users, reach = len(devices.values), summary.reach(_LEVEL, len(devices.values))
    stages.note(
        f"{quantity(users, 'device')}, {quantity(summary.queries, 'rule')}: expected band over all losses ± "
        f"{reach:.3f} at most"
    )
    clock.lap("plan")
    rounds = len(summary.shares or (1,))
    with open_campaign(remote, campaign):
        apps, fleet = answer_rounds(remote, address, campaign, rounds, terms, devices, stages, clock)
    with stages.stage("comparing rules"):
        estimates = remote.awaited_estimates(campaign, None, Patience())
    clock.lap("estimates")
    return ConceptResult(
        campaign=campaign,
        plan=plan,
        estimates=estimates,
        truth=dict(zip(workload.labels(), losses, strict=True)),
        app_reports=apps,
        fleet_reports=fleet,
        seconds=clock.laps,
    )
