"""The account as JSON, for an app's settings page: docs/account.schema.json describes every member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sordino_client._errors import checked_arguments
from sordino_client._results import purpose_text
from sordino_shared._records import asdict
from sordino_shared.domains import Hashed, Integers, Number, Ordinal, Text
from sordino_shared.domains.domain import Attribute
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exact_decimal
from sordino_shared.odds import odds

if TYPE_CHECKING:
    from sordino_client._account import Account, AccountEntry, CampaignAccount

# More members than these are counted, with the first and the last one.
_LISTED = 12


def account_document(account: Account, languages: Sequence[str]) -> dict[str, Any]:
    """The account as plain values; see `Account.to_dict`."""
    with checked_arguments():
        return {
            "opted_out": account.opted_out,
            "consent": None,
            "caps": {
                "per_period": {"days": account.caps.period_days} | _cap(account.caps.per_period, account.period_nano),
                "lifetime": _cap(account.caps.lifetime, account.lifetime_nano),
            },
            "campaigns": [_campaign(each, languages) for each in account.campaigns],
        }


def _cap(cap: PureEpsilon, spent: int) -> dict[str, str]:
    left = max(cap.nano - spent, 0)
    return {"epsilon": exact_decimal(cap.nano), "spent": exact_decimal(spent), "left": exact_decimal(left)}


def _campaign(campaign: CampaignAccount, languages: Sequence[str]) -> dict[str, Any]:
    series = campaign.series
    return {
        "campaign": campaign.campaign,
        "name": campaign.name,
        "server": campaign.server,
        "state": campaign.state,
        "purpose": asdict(purpose_text(campaign.purpose, campaign.texts, languages)),
        "guarantee": guarantee_document(campaign.guarantee, languages),
        "data": list(campaign.data),
        "arm": campaign.arm,
        "found": campaign.found,
        "mixed": None if campaign.mixed is None else str(campaign.mixed),
        "series": None
        if series is None
        else {"epsilon": exact_decimal(series.epsilon_nano), "turn": series.turn, "answers": series.answers,
              "answers_max": series.answers_max, "over": series.over},
        "next_due": campaign.next_due,
        "log": None if campaign.log is None else asdict(campaign.log) | {"witnesses": list(campaign.log.witnesses)},
        "spent": exact_decimal(campaign.epsilon_nano),
        "reports": [_report(entry) for entry in campaign.entries],
    }  # fmt: skip


def guarantee_document(guarantee: PureEpsilon, languages: Sequence[str]) -> dict[str, Any]:
    """ε in nano-ε, as a decimal number, in odds and in a sentence of the first language that there is."""
    return {
        "nano": guarantee.nano,
        "epsilon": exact_decimal(guarantee.nano),
        "odds": odds(guarantee.nano),
        "sentence": sentence_in(guarantee, languages),
    }


def sentence_in(guarantee: PureEpsilon, languages: Sequence[str]) -> str:
    """The sentence about ε in the first of `languages` that there is, else in English."""
    for language in languages:
        try:
            return guarantee.sentence(language)
        except InvalidValue:
            continue
    return guarantee.sentence("en")


def _report(entry: AccountEntry) -> dict[str, Any]:
    return {
        "round": entry.round,
        "at": entry.at,
        "period_start": entry.period_start,
        "epsilon": exact_decimal(entry.epsilon_nano),
        "state": entry.state,
        "reason": entry.reason,
        "report": entry.report,
        "sealed_for": entry.sealed_for,
    }


def told_by(attribute: Attribute) -> str:
    """What an attribute may tell, in words: "startup (ms): ≤ 250, (250, 500], > 500"."""
    size, unit = attribute.size, attribute.unit if isinstance(attribute, (Ordinal, Integers, Number)) else ""
    name = f"{attribute.name} ({unit})" if unit else attribute.name
    if isinstance(attribute, (Hashed, Text)):
        return f"{name}: one of {size:,} groups of texts"
    if size <= _LISTED:
        return f"{name}: {', '.join(attribute.label(index) for index in range(size))}"
    return f"{name}: one of {size:,} values, from {attribute.label(0)} to {attribute.label(size - 1)}"
