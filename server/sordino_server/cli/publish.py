"""`sordino publish`: results as a static site that anybody can host."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from sordino_server.cli.card import card_file, card_of
from sordino_server.cli.output import fail, say
from sordino_server.cli.remote import Remote, RemoteProblem, estimates_path
from sordino_server.cli.remote_command import Shown, remote_command
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, DevicePart, Manifest, Problem
from sordino_shared.quantities import quantity

# What `--check` and a campaign without answers exit with.
DIFFERS, NOT_ESTIMATED = 1, 3
_NOT_YET = {Problem.ESTIMATE_NOT_READY.slug, Problem.NOT_FOUND.slug}


@remote_command
def publish(
    remote: Remote,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the site: a new one, or one of before.")],
    campaigns: Annotated[
        list[str], typer.Argument(metavar="CAMPAIGN...", help="Campaigns and series: ids, first digits or names.")
    ],
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the site.")] = "Results",
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the site will be, for links that search engines keep.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if DIR is not what it should be.")
    ] = False,
) -> Shown:
    """Write the results of campaigns and series as a static site: no server, no script, no foreign address.

    Example:

        sordino publish site versions delays --title "What devices told us"

    Each gets a page with its answers, a chart, estimates.csv, estimates.json, and the manifest and plan that
    devices verify, and card.json. Only closed rounds and periods are published. The same answers make the same
    bytes. A campaign without an answer gets a page that says so, and the exit code is 3.
    """
    base = None if base_url is None else _checked_address(base_url)
    # Here, since the other commands need no numbers and should not wait for their libraries.
    from sordino_server.cli.publishing import folder as folders
    from sordino_server.cli.publishing import pages

    folders.held(folder)
    ids = list(dict.fromkeys(remote.campaign_id(each) for each in campaigns))
    results = [_result(remote, each) for each in ids]
    files = pages.site(results, title, base)
    if check:
        differing = folders.differing(folder, files)
        if differing:
            fail(f"{folder} differs in {quantity(len(differing), 'file')}: {', '.join(differing[:5])}", DIFFERS)
        return {"folder": str(folder), "differs": []}, partial(say, f"{folder} is up to date")
    folders.write(folder, files)
    size = sum(map(len, files.values()))
    missing = [result.name for result in results if result.estimates is None]
    if missing:
        fail(f"written to {folder}, but without answers yet: {', '.join(missing)}", NOT_ESTIMATED)
    document = {"folder": str(folder), "files": sorted(files), "bytes": size}
    return document, partial(say, f"{quantity(len(files), 'file')}, {size:,} bytes, written to {folder}")


def _result(remote: Remote, campaign: str) -> Any:
    from sordino_server.cli.publishing.pages import PublishedResult

    # Documents are published as what their digests name, and folders are called after the id.
    known = CampaignId.parse(campaign)
    status = remote.get(f"/v1/campaigns/{known}/status") | {"id": str(known)}
    content = remote.content(f"/v1/campaigns/{known}", Manifest.limit, CBOR_MEDIA_TYPE)
    plan = Manifest.read(content, known).rounds[0].plan
    assert plan is not None
    part = remote.content(f"/v1/plans/{plan.device}", DevicePart.limit, CBOR_MEDIA_TYPE)
    plan.device.check(part)
    path = f"/v1/campaigns/{campaign}/series" if status["series"] else estimates_path(campaign, None)
    return PublishedResult(
        status=status,
        manifest=content,
        device_part=part,
        estimates=_estimates(remote, path),
        card=_published_card(remote, str(known)),
    )


def _published_card(remote: Remote, campaign: str) -> bytes:
    """The card less what its population has spent, which other campaigns change."""
    from sordino_server.cards.schemas import Card

    return card_file(Card.model_validate(card_of(remote, campaign)).without("accounting").model_dump(mode="json"))


def _estimates(remote: Remote, path: str) -> bytes | None:
    """The document; None where there is no answer of a closed round or period."""
    try:
        document = remote.get(path)
    except RemoteProblem as problem:
        if problem.slug not in _NOT_YET:
            raise
        return None
    return json.dumps(document).encode() if document["table"].get("label") else None


def _checked_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise InvalidValue(f"--base-url is an address such as https://results.example/app, got {text!r}", text)
    return text.rstrip("/")
