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
from sordino_shared.protocol.experiments import MAX_ARMS, WHOLE_ARM_WEIGHT, Arm
from sordino_shared.protocol.finding import KeySignature, ManifestSignatures, OpenCampaigns, signed_message
from sordino_shared.protocol.ids import CampaignId, Digest, ReportId
from sordino_shared.protocol.log_entries import LogEntry
from sordino_shared.protocol.owner_texts import OwnerText, text_for
from sordino_shared.protocol.plans import (
    DevicePart,
    PlanReference,
)
from sordino_shared.protocol.problems import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE, Problem
from sordino_shared.protocol.reports import MAX_REPORTS, Refusal, RefusedReport, ReportBatch, ReportOutcomes
from sordino_shared.protocol.routes import (
    CollectorKey,
    DirectRoute,
    PrivacyClaim,
    Route,
    ShuffledRoute,
    Shuffler,
    TokenRoute,
)
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement, SealedOutcomes, SealedReports, ShuffledPage
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
from sordino_shared.protocol.tokens import (
    AccountGate,
    AddressGate,
    Gate,
    HookGate,
    Issuer,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.protocol.unbuilt import check_built

__all__ = [
    "CAMPAIGN_TRANSITIONS",
    "CBOR_MEDIA_TYPE",
    "MAX_ARMS",
    "MAX_REPORTS",
    "PROBLEM_MEDIA_TYPE",
    "PROTOCOL_VERSION",
    "ROUND_TRANSITIONS",
    "WHOLE_ARM_WEIGHT",
    "WHOLE_WEIGHT",
    "AccountGate",
    "AddressGate",
    "Arm",
    "BatchEnd",
    "BatchStatement",
    "CampaignId",
    "CampaignServer",
    "CampaignState",
    "CollectorKey",
    "DevicePart",
    "Digest",
    "DirectRoute",
    "Document",
    "DrawOneRound",
    "EveryRound",
    "Gate",
    "HookGate",
    "IllegalTransition",
    "Issuer",
    "KeySignature",
    "LogEntry",
    "Manifest",
    "ManifestSignatures",
    "OpenCampaigns",
    "OwnerText",
    "Period",
    "PlanReference",
    "PrivacyClaim",
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
    "Route",
    "SealedOutcomes",
    "SealedReports",
    "ShuffledPage",
    "ShuffledRoute",
    "Shuffler",
    "Task",
    "TokenEvaluations",
    "TokenRequest",
    "TokenRoute",
    "ValueOf",
    "check_built",
    "check_campaign_transition",
    "check_round_transition",
    "check_source",
    "epochs_of_source",
    "signed_message",
    "successor_faults",
    "text_for",
]
