"""Protocol v1: the values on the wire, their strict canonical codec, states and problem types."""

from sordino_shared.protocol.campaigns import (
    WHOLE_WEIGHT,
    DrawOneRound,
    EveryRound,
    Manifest,
    RetryWindow,
    RoundAssignment,
    RoundTerms,
    Task,
)
from sordino_shared.protocol.documents import PROTOCOL_VERSION, Document
from sordino_shared.protocol.finding import KeySignature, ManifestSignatures, OpenCampaigns, signed_message
from sordino_shared.protocol.ids import CampaignId, Digest, ReportId
from sordino_shared.protocol.plans import (
    DevicePart,
    PlanReference,
)
from sordino_shared.protocol.problems import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE, Problem
from sordino_shared.protocol.reports import MAX_REPORTS, Refusal, RefusedReport, ReportBatch, ReportOutcomes
from sordino_shared.protocol.series import Period, Rotating, ValueOf
from sordino_shared.protocol.servers import CampaignServer, check_source, epochs_of_source
from sordino_shared.protocol.states import (
    CAMPAIGN_TRANSITIONS,
    ROUND_TRANSITIONS,
    CampaignState,
    IllegalTransition,
    RoundState,
    check_campaign_transition,
    check_round_transition,
)
from sordino_shared.protocol.successors import successor_faults

__all__ = [
    "CAMPAIGN_TRANSITIONS",
    "CBOR_MEDIA_TYPE",
    "MAX_REPORTS",
    "PROBLEM_MEDIA_TYPE",
    "PROTOCOL_VERSION",
    "ROUND_TRANSITIONS",
    "WHOLE_WEIGHT",
    "CampaignId",
    "CampaignServer",
    "CampaignState",
    "DevicePart",
    "Digest",
    "Document",
    "DrawOneRound",
    "EveryRound",
    "IllegalTransition",
    "KeySignature",
    "Manifest",
    "ManifestSignatures",
    "OpenCampaigns",
    "Period",
    "PlanReference",
    "Problem",
    "Refusal",
    "RefusedReport",
    "ReportBatch",
    "ReportId",
    "ReportOutcomes",
    "RetryWindow",
    "Rotating",
    "RoundAssignment",
    "RoundState",
    "RoundTerms",
    "Task",
    "ValueOf",
    "check_campaign_transition",
    "check_round_transition",
    "check_source",
    "epochs_of_source",
    "signed_message",
    "successor_faults",
]
