"""What `sordino-shuffler check` does: all documents fetched and proved, at collectors or at a running shuffler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.protocol import CampaignId, DevicePart, Manifest, Problem, SealedReports, Task
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.documents import (
    CheckedCampaign,
    blanket_of,
    check_claims,
    part_digest,
    read_manifest,
    read_part,
    read_task,
    route_of,
)
from sordino_shuffler.errors import CollectorTrouble, DocumentRefused
from sordino_shuffler.settings import ShuffledEntry, ShufflerSettings, read_campaigns
from sordino_shuffler.statements import SigningKey


def check_campaigns(settings: ShufflerSettings) -> dict[str, Any]:
    """Before it serves: the public key, and of each campaign a `summary` or its `fault`; raises WrongSetting."""
    key = SigningKey.read(settings.signing_key)
    entries = read_campaigns(settings.campaigns)
    return {"key": key.public.hex(), "campaigns": [_checked(entry, key.public) for entry in entries]}


def check_running(address: Address, campaigns: Sequence[CampaignId]) -> dict[str, Any]:
    """The shuffler at an address, seen as a device sees it, without its files: of each campaign the same.

    Besides what `check_campaigns` proves, the manifest must name the address, and a report that is a byte too long
    must be refused. That random reports are added shows in a batch alone.
    """
    return {"key": None, "campaigns": [_checked(ShuffledEntry(each, address, ""), None) for each in campaigns]}


def _checked(entry: ShuffledEntry, key: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = {"campaign": str(entry.campaign), "summary": None, "fault": None}
    try:
        found["summary"] = _summary(entry, CollectorLink(entry), key)
    except (CollectorTrouble, DocumentRefused) as error:
        found["fault"] = str(error)
    return found


def _summary(entry: ShuffledEntry, link: CollectorLink, key: bytes | None) -> str:
    manifest = read_manifest(_fetched(link, f"/v1/campaigns/{entry.campaign}", Manifest.limit), entry.campaign, key)
    part = read_part(_fetched(link, f"/v1/plans/{part_digest(manifest)}", DevicePart.limit), manifest)
    task = read_task(_fetched(link, f"/v1/campaigns/{entry.campaign}/task", Task.limit), manifest, None)
    fault = check_claims(manifest.content, part.content)
    if fault is None and key is None:
        fault = _served_wrongly(entry, link, CheckedCampaign(manifest, part), task.round or 0)
    if fault is not None:
        raise DocumentRefused(fault)
    route = route_of(manifest)
    headline = route.claims[route.headline]
    return (
        f"{manifest.name}: {len(route.claims)} claims proved, (ε {headline.nano_epsilon / 1e9:g}, "
        f"δ {headline.atto_delta / 1e18:.3g}) with {blanket_of(manifest)}; floor {route.floor}"
    )


def _served_wrongly(entry: ShuffledEntry, link: CollectorLink, documents: CheckedCampaign, number: int) -> str | None:
    urls = documents.route.shuffler.urls
    if entry.collector not in _addresses(urls):
        return f"the manifest sends devices to {' and '.join(urls)}, not here"
    path = f"/v1/campaigns/{entry.campaign}/rounds/{number}/sealed"
    answered = link.refusal(path, SealedReports(bytes(documents.width + 1), 1).content)
    wanted = Problem.INVALID_REQUEST.slug
    return None if answered == wanted else f"a report that is a byte too long is answered {answered}, not {wanted}"


def _addresses(urls: Sequence[str]) -> list[Address]:
    found = []
    for url in urls:
        try:
            found.append(Address.parse(url))
        except InvalidValue:
            continue
    return found


def _fetched(link: CollectorLink, path: str, limit: int) -> bytes:
    content = link.document(path, limit)
    if content is None:
        raise CollectorTrouble(f"there is no document at {path}: check id and address of the campaign")
    return content
