"""The servers that an order of a campaign names, as its manifest has them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sordino_analysis.strict_model import Listed, StrictModel
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignServer
from sordino_shared.protocol.servers import MAX_SOURCE, MAX_URL, MAX_URLS

_Url = Annotated[str, Field(max_length=MAX_URL)]


class ServerTerms(StrictModel):
    """One of a campaign's servers."""

    name: str = Field(max_length=MAX_SOURCE, description="Name of the server's source, as in `eu-west`.")
    urls: Listed[_Url] = Field(
        max_length=MAX_URLS, description="Its addresses, each in lower case and without a slash at its end."
    )


def servers_of(named: tuple[ServerTerms, ...], upload_token: bool) -> tuple[CampaignServer, ...]:
    """The servers in their order; raises InvalidValue, also for a campaign whose reports need a token."""
    if named and upload_token:
        raise InvalidValue(
            "/upload_token: servers that collect for this one know no upload tokens; leave out the token or the servers"
        )
    return tuple(CampaignServer(each.name, tuple(each.urls)) for each in named)
