"""A campaign whose manifest names its servers, or its shuffler: which of them the device keeps to."""

from __future__ import annotations

from sordino_client._errors import PlanRefused, ServerChanged
from sordino_shared.protocol import Manifest, ShuffledRoute


def source_at(manifest: Manifest, origin: str) -> str | None:
    """The name of the server at `origin`, None where the manifest names none; raises `PlanRefused`."""
    server = manifest.receiver_at(origin)
    if manifest.receivers and server is None:
        named = ", ".join(url for each in manifest.receivers for url in each.urls)
        kind = "shuffler" if isinstance(manifest.route, ShuffledRoute) else "servers"
        reason = f"it names the {kind} {named}, and this client talks to {origin}; use a client of one of them"
        raise PlanRefused("manifest", reason, manifest.campaign)
    return None if server is None else server.name


def check_same_server(manifest: Manifest, source: str | None, origin: str | None, here: str) -> None:
    """Raise `ServerChanged` unless `here` is an address of the server that was joined at `origin`, if one is named."""
    there = manifest.receiver_at(here)
    if source is not None and (there is None or there.name != source):
        raise ServerChanged(manifest.campaign, str(origin), source, here)


def check_pinned(manifest: Manifest, source: object, origin: str | None) -> None:
    """Raise ValueError unless the manifest names the server, as it did when it was joined."""
    server = None if origin is None else manifest.receiver_at(origin)
    if source != (server and server.name):
        raise ValueError("a server that the manifest does not name")
