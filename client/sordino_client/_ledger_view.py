"""What a ledger holds, as the account reads it: debits, the campaigns they belong to, and totals."""

from __future__ import annotations

from collections.abc import Mapping

from sordino_client._accounting import Spending
from sordino_client._series_rows import SeriesState
from sordino_shared._records import dataclass
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Manifest
from sordino_shared.protocol.log_proofs import LogProof


@dataclass(frozen=True, kw_only=True)
class Debit:
    """One row of the account: ε spent on a round at a time in Unix seconds, and what became of the report.

    `period_start` is the start of a series' period. `reason` is why a report was refused, or what the last try of one
    that waits met. `payloads` is the randomised report, while it is kept, and `sealed` whether the collector alone
    can read it.
    """

    campaign: CampaignId
    round: int
    guarantee: PureEpsilon
    at: int
    period_start: int | None
    state: str
    reason: str | None
    payloads: bytes | None
    sealed: bool


@dataclass(frozen=True, kw_only=True)
class Joined:
    """A pinned manifest, the round and the arm drawn, where it was joined (None: not kept), whether the owner left, its
    series.

    `found` is the population in whose list it was found, None for a campaign that the app named. `paused` is what the
    task of a series said when it was last read.
    """

    manifest: Manifest
    assigned_round: int | None
    arm: int | None
    origin: str | None
    opted_out: bool
    series: SeriesState | None
    found: str | None
    paused: bool = False


@dataclass(frozen=True, kw_only=True)
class LedgerView:
    """Debits in the order they were made, the campaigns they belong to, totals, and when the owner left all.

    `logged` are the accepted proofs of public logs, and their texts, by verifier key and campaign.
    """

    debits: list[Debit]
    joined: dict[CampaignId, Joined]
    spending: Spending
    left_all_at: int | None
    logged: Mapping[tuple[str, CampaignId], tuple[LogProof, bytes]]
