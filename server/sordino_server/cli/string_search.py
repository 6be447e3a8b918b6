"""`sordino campaigns strings`: search the reports of a campaign of strings again, with a wider beam."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sordino_analysis.documents.string_queries import MAX_BEAM
from sordino_analysis.figures import figure
from sordino_analysis.percentages import percent
from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Listing, Shown, remote_command
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption
from sordino_shared.errors import SordinoError

_UNFINISHED = ("queued", "running")


@remote_command
def strings(
    remote: Remote,
    campaign: CampaignArgument,
    beam: Annotated[
        int, typer.Option(min=2, max=MAX_BEAM, metavar="N", help="Paths that each level keeps; more than the estimate.")
    ],
    limit: Annotated[int, typer.Option(min=1, max=MAX_BEAM, metavar="N", help="Most paths to list.")] = 100,
    wait: Annotated[bool, typer.Option(help="Wait for the worker.")] = True,
    timeout: TimeoutOption = TIMEOUT_S,
) -> Shown:
    """Search a closed campaign of strings again, with a wider beam, while its reports are kept.

    Example:

        sordino campaigns strings PAGES --beam 3000

    Lists likely strings without shares, and certifies none: the reports that certify were read once, for the estimate,
    which stays as it is. Without shares, `least_share` hides none of them: a string that the estimate does not show may
    be here. Ask for a share with `sordino campaigns answers --string`.
    """
    path = f"/v1/campaigns/{remote.campaign_id(campaign)}/strings"
    document = remote.post(path, {"beam": beam})
    if document["state"] == "done":
        document = remote.get(path, beam=beam, limit=limit)
    patience = Patience(timeout)
    while wait and document["state"] in _UNFINISHED:
        patience.pause(
            "still waiting for a worker; does `sordino worker` run?",
            "the search goes on: repeat the command to see it",
        )
        document = remote.get(path, beam=beam, limit=limit)
    if document["state"] == "failed":
        raise SordinoError(f"the search failed: {document['error']}")
    if document["state"] in _UNFINISHED:
        return document, _unfinished(document)
    rows = ([path["label"], path["kind"], figure(path["log_odds"], 3)] for path in document["paths"])
    return document, Listing(("string", "kind", "log odds"), rows)


def _unfinished(document: dict[str, Any]) -> Iterator[str]:
    yield f"the search with a beam of {document['beam']:,} is {document['state']}, {percent(document['progress'], 0)}"
