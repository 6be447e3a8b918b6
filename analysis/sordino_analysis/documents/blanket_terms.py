"""What a plan says of the random reports that hide its reports behind a shuffler."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_shared._checks import check_increasing, check_range
from sordino_shared.protocol.routes import MAX_BLANKET, MAX_CLAIMS, PrivacyClaim


@dataclass(frozen=True)
class BlanketTerms:
    """`reports` random reports a round and arm, and what they prove of one report against the collector.

    `claims` are points (ε, δ) of the privacy profile, ε rising and δ falling; `headline` is the index of the one that
    was asked for.
    """

    reports: int
    claims: tuple[PrivacyClaim, ...]
    headline: int

    def __post_init__(self) -> None:
        check_range(self.reports, 1, MAX_BLANKET, "reports of a blanket")
        check_range(len(self.claims), 1, MAX_CLAIMS, "number of claims")
        check_increasing([claim.nano_epsilon for claim in self.claims], "nano_epsilon of the claims")
        check_increasing([-claim.atto_delta for claim in self.claims], "falling atto_delta of the claims")
        check_range(self.headline, 0, len(self.claims) - 1, "headline")
