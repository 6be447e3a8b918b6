"""Commands that change a campaign or a round by one request without a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.campaign_results import print_status
from sordino_server.cli.output import JsonOption, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption

RoundArgument = Annotated[int, typer.Argument(min=0, metavar="INDEX", help="Index of the round, from 0.")]


def campaign_action(action: str, text: str) -> Callable[..., None]:
    """The command of a campaign's action; `text` is its help."""

    def act(
        campaign: CampaignArgument,
        server: ServerOption = DEFAULT_SERVER,
        key: KeyOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _act(action, campaign, server, key, as_json)

    act.__doc__ = text
    return reports_errors(act)


def round_action(action: str, text: str) -> Callable[..., None]:
    """The command of a round's action; `text` is its help."""

    def act(
        campaign: CampaignArgument,
        index: RoundArgument,
        server: ServerOption = DEFAULT_SERVER,
        key: KeyOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _act(f"rounds/{index}/{action}", campaign, server, key, as_json)

    act.__doc__ = text
    return reports_errors(act)


def _act(action: str, campaign: str, server: str, key: str | None, as_json: bool) -> None:
    with Remote(server, key) as remote:
        print_status(remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/{action}"), as_json)
