"""What the calls of a client return, and the campaign that they are about."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_client._session import AnswerStatus
from sordino_shared.domains import Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Rotating


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A joined campaign. Show `purpose` to the owner; `guarantee` is the most it may spend on one device.

    `series` says how often a series asks; None for any other campaign. `cap_conflict` says to the app's developer why
    the cap of a period refuses some answers of a series, and which cap would not; None where it refuses none.
    """

    id: CampaignId
    name: str
    purpose: str
    domain: Domain
    guarantee: PureEpsilon
    series: Rotating | None
    opted_out: bool
    cap_conflict: str | None = None

    def check(self, value: object) -> str:
        """The label of what a value is in this campaign, for the app's tests; spends and sends nothing.

        Raises what `answer` does where `strict`: `InvalidValue` for a wrong shape, `OutsideDomain` for a value that is
        not listed or of a wrong type, even where production would count it as `other` or `missing`.
        """
        return self.domain.describe(self.domain.codes(value, strict=True))


@dataclass(frozen=True)
class Answer:
    """What became of an answer: `guarantee` is what this call spent, if it recorded a report.

    `round` is the period's number in a series.
    """

    status: AnswerStatus
    campaign: CampaignId
    round: int | None = None
    guarantee: PureEpsilon | None = None


@dataclass(frozen=True)
class RefusedUpload:
    """A report that the server will never count; its debit stays."""

    campaign: CampaignId
    round: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Flushed:
    """What a flush did: `waiting` reports are left, one is due in `retry_in_s`, `trouble` is the last met."""

    delivered: int
    refused: tuple[RefusedUpload, ...]
    waiting: int
    retry_in_s: float | None
    trouble: str | None


def campaign_id(campaign: Campaign | CampaignId | str) -> CampaignId:
    """The id of a campaign given in any of the three ways."""
    if isinstance(campaign, Campaign):
        return campaign.id
    return campaign if isinstance(campaign, CampaignId) else CampaignId.parse(campaign)
