"""What the calls of a client return, and the campaign that they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from sordino_client._accounting import cap_conflict
from sordino_client._arms import experiment_of
from sordino_client._config import Caps
from sordino_client._errors import WrongArgument, checked_arguments
from sordino_client._session import AnswerStatus, Session
from sordino_client._shuffled import MixedGuarantee, mixed_guarantee
from sordino_client._values import codes_of
from sordino_shared._records import dataclass
from sordino_shared.domains import Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, OwnerText, Rotating, text_for
from sordino_shared.quantities import quantity


@dataclass(frozen=True, kw_only=True)
class PurposeText:
    """What the owner is told a campaign asks: its `language` (None: not stated), whom to ask, and a link."""

    language: str | None
    purpose: str
    contact: str | None
    link: str | None


def purpose_text(purpose: str, texts: Sequence[OwnerText], languages: Sequence[str]) -> PurposeText:
    """The text of the first of `languages` that there is, else `purpose`; raises InvalidValue."""
    found = text_for(texts, languages)
    if found is None:
        return PurposeText(language=None, purpose=purpose, contact=None, link=None)
    return PurposeText(language=found.language, purpose=found.purpose, contact=found.contact, link=found.link)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A joined campaign. Show `purpose` to the owner; `guarantee` is the most it may spend on one device.

    `mixed` says what holds against the collector alone where a shuffler mixes random answers in; show it to the owner,
    too; None for a campaign without one. `series` says how often a series asks; None for any other campaign.
    `cap_conflict` says to the app's developer why the cap of a period refuses some answers of a series, and which cap
    would not; None where it refuses none. `experiment` says that the app shows one of several versions; show it, too.
    `texts` has the purpose in other languages; see `text`.
    """

    id: CampaignId
    name: str
    purpose: str
    domain: Domain
    guarantee: PureEpsilon
    series: Rotating | None
    opted_out: bool
    experiment: str | None = None
    mixed: MixedGuarantee | None = None
    cap_conflict: str | None = None
    texts: tuple[OwnerText, ...] = ()

    def text(self, languages: Sequence[str]) -> PurposeText:
        """The purpose in the first of the owner's languages that the campaign has, such as `["de-CH", "de", "en"]`.

        By lookup (RFC 4647): "de-CH" finds "de". Without one it is `purpose`. The digest covers all.
        Raises `WrongArgument` for what is no list of languages.
        """
        with checked_arguments():
            return purpose_text(self.purpose, self.texts, languages)

    def check(self, value: object) -> str:
        """The label of what a value is in this campaign, for the app's tests; spends and sends nothing.

        Raises what `answer` does where `strict`: `WrongShape`, and `NotListed` for a value that is not listed or of a
        wrong type, even where production would count it as `other` or `missing`.
        """
        return self.domain.describe(codes_of(self.domain, value, strict=True))


def campaign_of(session: Session, opted_out: bool, caps: Caps) -> Campaign:
    """The campaign of a session, under the caps of its ledger's owner."""
    manifest, law = session.manifest, session.series
    return Campaign(
        id=session.campaign,
        name=manifest.name,
        purpose=manifest.purpose,
        domain=manifest.domain,
        guarantee=manifest.device_guarantee,
        series=law,
        mixed=mixed_guarantee(manifest),
        experiment=experiment_of(manifest),
        texts=manifest.texts,
        opted_out=opted_out,
        cap_conflict=None if law is None else cap_conflict(law, manifest.rounds[0].guarantee, caps),
    )


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
    """What a flush did: `waiting` reports are left, the next one is due in `retry_in_s` seconds.

    `trouble` is what the last failed try met, in this flush or in an earlier one whose report still waits; that was
    `tried_at`, in Unix seconds. Both are None where no report that waits was tried. `str()` says all of it.
    """

    delivered: int
    refused: tuple[RefusedUpload, ...]
    waiting: int
    retry_in_s: float | None
    trouble: str | None
    tried_at: float | None = None

    def __str__(self) -> str:
        said = f"{quantity(self.delivered, 'report')} delivered, {len(self.refused)} refused, {self.waiting} waiting"
        if not self.waiting:
            return said
        if self.tried_at is None and self.trouble is not None:
            return f"{said}; {self.trouble}"
        why = "none was tried yet: each has a time drawn from its campaign's retry window"
        if self.tried_at is not None:
            tried = datetime.fromtimestamp(self.tried_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            why = f"the last try, at {tried}, met: {self.trouble}"
        return f"{said}; {why}; the next try is in {math.ceil(self.retry_in_s or 0)} s"


def campaign_id(campaign: Campaign | CampaignId | str) -> CampaignId:
    """The id of a campaign given in any of the three ways."""
    if isinstance(campaign, Campaign):
        return campaign.id
    if isinstance(campaign, CampaignId):
        return campaign
    if not isinstance(campaign, str):
        raise WrongArgument(f"give a campaign or its id in hexadecimal digits, got {type(campaign).__name__}", campaign)
    with checked_arguments():
        return CampaignId.parse(campaign)
