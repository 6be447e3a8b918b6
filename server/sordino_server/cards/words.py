"""ε in words, and the sentences that hold for every campaign."""

from __future__ import annotations

import math
from typing import Any

from sordino_analysis.percentages import percent
from sordino_shared.guarantees import NANO, exact_decimal
from sordino_shared.odds import odds, share

GUARANTEE = "pure ε, local: the device draws its report itself, before anything is sent"
UNIT = "one device's ledger, for all reports of the campaign. Not a person: one with two devices counts twice"
NEIGHBOURS = "any two values of the domain: whatever a device holds, the same holds for its report"
UNPROTECTED = (
    "that a device takes part, when it sends, its network address, and in a series the periods in which it answers; "
    "what all devices together answer"
)
ARM = "; which arm of the experiment it drew, which every report says"
NOT_SUMMED = "campaigns of other servers and other populations, unless the app keeps one ledger for all of them"
COMPOSITION = "the sum of ε of all campaigns that opened (sequential composition)"
KEPT = "counts, sums, estimates, the manifest and the plan; ledger and audit log"
POST_PROCESSING = "unbiased estimates with intervals; the column `best` uses the same reports again, which costs no ε"


def epsilon_text(epsilon: float) -> str:
    """ε, in odds and from fifty-fifty, rounded up."""
    nano = math.ceil(round(epsilon * NANO, 3))
    return (
        f"ε = {exact_decimal(nano)}: the odds about an answer change at most {odds(nano)}-fold, and fifty-fifty "
        f"becomes at most {share(nano)} %"
    )


def token_text(needed: bool) -> str:
    """Who can send a report to a campaign without a gate."""
    if needed:
        return "those of devices with the campaign's upload token, which is the same on all of them"
    return "those of anybody who knows the campaign's id"


def arms_text(arms: list[dict[str, Any]]) -> str:
    """Name and share of each arm."""
    whole = sum(each["weight"] for each in arms)
    shares = ", ".join(f"{each['name']} ({percent(each['weight'] / whole, 1)} of devices)" for each in arms)
    return f"{shares}; a device draws its arm itself"


def attributes_text(attributes: list[dict[str, Any]]) -> str:
    """Name and kind of each attribute."""
    return ", ".join(f"{each['name']} ({each['kind']})" for each in attributes)
