"""The kinds of campaigns: what follows from their closed rounds, and how their estimate is published.

Only workers import this module: it needs the estimators. Another kind is another class and a case of `campaign_kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sordino_analysis.documents.elimination_plan import EliminationPlan
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_analysis.documents.queries import RuleQueries
from sordino_analysis.elimination.three_rounds import ThreeRounds
from sordino_analysis.estimation.concepts import ConceptEstimator
from sordino_analysis.estimation.items import ItemEstimator
from sordino_analysis.estimation.linear import estimate
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.pairwise.protocol_registry import conclude_protocol, step_protocol
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_server.estimates.concept_document import certified_document, concept_document
from sordino_server.estimates.concept_schemas import ConceptDocument
from sordino_server.estimates.document import document_of, document_of_items
from sordino_server.estimates.pairwise_document import statistic_document
from sordino_server.estimates.schemas import EstimateDocument, PairwiseDocument
from sordino_shared.protocol import Manifest

AnyEstimate = EstimateDocument | PairwiseDocument | ConceptDocument


class CampaignKind(Protocol):
    """How the rounds of a campaign follow one another."""

    def follow(self, closed: tuple[ClosedRound, ...], *, conclude: bool) -> RoundPlan | AnyEstimate:
        """The plan of the next round, or the estimate; with `conclude` the estimate, since no round will follow.

        Raises EstimationError or InvalidValue where the reports allow neither.
        """


@dataclass(frozen=True)
class LinearCampaign:
    """Linear queries: one round, whose estimate follows."""

    manifest: Manifest

    def follow(self, closed: tuple[ClosedRound, ...], *, conclude: bool) -> EstimateDocument | ConceptDocument:
        """The estimate from the last closed round, whether `conclude` or not."""
        return self.estimate_of(len(closed) - 1, closed[-1])

    def estimate_of(self, number: int, closed: ClosedRound) -> EstimateDocument | ConceptDocument:
        """The estimate from the closed round `number`, or from that period of a series."""
        device, analyst = closed.plan.device, closed.plan.analyst
        campaign = str(self.manifest.campaign)
        if isinstance(analyst.queries, RuleQueries):
            best = ConceptEstimator.of(device, analyst).estimate(closed.aggregate)
            return concept_document(campaign, number, device, analyst, best)
        published = PublishedQueries.of(device, analyst)
        if not published.workload.is_listed:
            found = ItemEstimator(device, analyst).published(closed.aggregate)
            return document_of_items(campaign, number, device, analyst, found)
        result = estimate(device, analyst, closed.aggregate)
        return document_of(campaign, number, device, analyst, published, result)


@dataclass(frozen=True)
class PairwiseCampaign:
    """A pairwise statistic: the rounds of the protocol that `plan` fixes."""

    manifest: Manifest
    plan: ProtocolPlan

    def follow(self, closed: tuple[ClosedRound, ...], *, conclude: bool) -> RoundPlan | PairwiseDocument:
        """What the protocol makes of the rounds."""
        outcome = (conclude_protocol if conclude else step_protocol)(self.plan, closed)
        if isinstance(outcome, RoundPlan):
            return outcome
        return statistic_document(self.manifest, self.plan, closed, outcome)


@dataclass(frozen=True)
class RulesCampaign:
    """A class of rules: three rounds, of which the last one certifies the rule that is left."""

    manifest: Manifest
    plan: EliminationPlan

    def follow(self, closed: tuple[ClosedRound, ...], *, conclude: bool) -> RoundPlan | ConceptDocument:
        """The plan of the next round, or what is sure of the rule that the rounds chose."""
        rounds = ThreeRounds(self.plan.shares)
        outcome = rounds.conclude(closed) if conclude else rounds.step(closed)
        if isinstance(outcome, RoundPlan):
            return outcome
        return certified_document(str(self.manifest.campaign), closed[0].plan, outcome)


def campaign_kind(manifest: Manifest, plan: AnyProtocolPlan | None) -> CampaignKind:
    """The kind of the campaign of `manifest`, with the `plan` of the protocol that it names, if it names one."""
    match plan:
        case None:
            return LinearCampaign(manifest)
        case EliminationPlan():
            return RulesCampaign(manifest, plan)
        case ProtocolPlan():
            return PairwiseCampaign(manifest, plan)
