"""The argument that names a campaign, and the one campaign that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from sordino_shared.errors import SordinoError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

CampaignArgument = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="Id, the first digits of an id (4 or more), or a name.")
]

_WHOLE_ID, _ID_PREFIX = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{4,63}")
_SHOWN, _SHOWN_DIGITS = 5, 12


def is_whole_id(text: str) -> bool:
    """Whether it is an id, which needs no looking up."""
    return _WHOLE_ID.fullmatch(text) is not None


def is_id_prefix(text: str) -> bool:
    """Whether it may be the beginning of an id."""
    return _ID_PREFIX.fullmatch(text) is not None


def only_campaign(text: str, campaigns: Mapping[str, str]) -> str:
    """The id of the one campaign that is meant, of the names by id that were found; raises SordinoError otherwise."""
    if len(campaigns) == 1:
        return next(iter(campaigns))
    if not campaigns:
        raise SordinoError(f"no campaign has the name or the id {text!r}: see `sordino campaigns list`")
    names = ", ".join(f"{each[:_SHOWN_DIGITS]} ({name})" for each, name in list(campaigns.items())[:_SHOWN])
    raise SordinoError(f"{text!r} means {len(campaigns)} campaigns, give more of the id: {names}")


def campaign_in(session: Session, text: str) -> str:
    """The id of the one campaign in a database that `text` means; raises SordinoError otherwise."""
    # Imported here: most commands on campaigns ask a server.
    from sordino_server.campaigns.repository import names_by_id

    prefix = text if is_whole_id(text) or is_id_prefix(text) else None
    return only_campaign(text, names_by_id(session, text, prefix))
