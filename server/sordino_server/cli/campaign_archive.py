"""`sordino campaigns archive`, `restore` and `delete`: campaigns that are no longer listed, or never opened."""

from __future__ import annotations

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.campaign_results import print_status
from sordino_server.cli.output import JsonOption, print_json, reports_errors, say
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption


@reports_errors
def archive(
    campaign: CampaignArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Archive a campaign that is not open: `campaigns list` leaves it out. Nothing is deleted."""
    with Remote(server, key) as remote:
        print_status(remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/archive"), as_json)


@reports_errors
def restore(
    campaign: CampaignArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore an archived campaign: `campaigns list` has it again."""
    with Remote(server, key) as remote:
        print_status(remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/restore"), as_json)


@reports_errors
def delete(
    campaign: CampaignArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a campaign that was never opened, with its upload tokens."""
    with Remote(server, key) as remote:
        identifier = remote.campaign_id(campaign)
        remote.delete(f"/v1/campaigns/{identifier}")
    if as_json:
        print_json({"deleted": identifier})
    else:
        say(f"campaign {identifier} is deleted")
