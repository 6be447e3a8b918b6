"""What `sordino-shuffler check` does before a shuffler serves: all documents fetched and proved, nothing written."""

from __future__ import annotations

from typing import Any

from sordino_shared.protocol import DevicePart, Manifest, Task
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.documents import check_claims, part_digest, read_manifest, read_part, read_task, route_of
from sordino_shuffler.errors import CollectorTrouble, DocumentRefused
from sordino_shuffler.settings import ShuffledEntry, ShufflerSettings, read_campaigns
from sordino_shuffler.statements import SigningKey


def check_campaigns(settings: ShufflerSettings) -> dict[str, Any]:
    """The public key, and of each campaign a `summary` or its `fault`; raises WrongSetting."""
    key = SigningKey.read(settings.signing_key)
    entries = read_campaigns(settings.campaigns)
    return {"key": key.public.hex(), "campaigns": [_checked(entry, key.public) for entry in entries]}


def _checked(entry: ShuffledEntry, key: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"campaign": str(entry.campaign), "summary": None, "fault": None}
    try:
        found["summary"] = _summary(entry, CollectorLink(entry), key)
    except (CollectorTrouble, DocumentRefused) as error:
        found["fault"] = str(error)
    return found


def _summary(entry: ShuffledEntry, link: CollectorLink, key: bytes) -> str:
    manifest = read_manifest(_fetched(link, f"/v1/campaigns/{entry.campaign}", Manifest.limit), entry.campaign, key)
    part = read_part(_fetched(link, f"/v1/plans/{part_digest(manifest)}", DevicePart.limit), manifest)
    read_task(_fetched(link, f"/v1/campaigns/{entry.campaign}/task", Task.limit), manifest, None)
    fault = check_claims(manifest.content, part.content)
    if fault is not None:
        raise DocumentRefused(fault)
    route = route_of(manifest)
    headline = route.claims[route.headline]
    return (
        f"{manifest.name}: {len(route.claims)} claims proved, (ε {headline.nano_epsilon / 1e9:g}, "
        f"δ {headline.atto_delta / 1e18:.3g}) with {route.blanket} random reports; floor {route.floor}"
    )


def _fetched(link: CollectorLink, path: str, limit: int) -> bytes:
    content = link.document(path, limit)
    if content is None:
        raise CollectorTrouble(f"the collector has no document at {path}: check id and address of the campaign")
    return content
