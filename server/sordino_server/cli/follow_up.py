"""`sordino campaigns follow-up`: a workload that asks other devices for the strings that were found."""

from __future__ import annotations

from functools import partial
from typing import Any

import typer

from sordino_analysis.figures import figure
from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.output import progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Shown, remote_command


@remote_command
def follow_up(remote: Remote, campaign: CampaignArgument) -> Shown:
    """Write a workload that asks other devices for the certified strings of a campaign, as a histogram.

    Example:

        sordino campaigns follow-up PAGES > found.yaml

    Its shares have smaller errors, since every report counts them. The strings become public: they stand in the plan,
    and every device reads them. Delete the lines that nobody else should read.
    """
    document = remote.get(f"/v1/campaigns/{remote.campaign_id(campaign)}/strings/follow-up")
    return document, partial(_print, document)


def _print(document: dict[str, Any]) -> None:
    typer.echo(document["yaml"], nl=False)
    said = [f"left out: {each['label']}: {each['reason']}" for each in document["left_out"]]
    said.append(f"errors of small shares: at least {figure(document['smaller'], 2)} times smaller with as many devices")
    said.append("these strings become public with the plan: delete the lines that nobody else should read")
    for line in said:
        progress_console.print(line, highlight=False, markup=False, soft_wrap=True)
