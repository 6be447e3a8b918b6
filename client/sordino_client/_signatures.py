"""Whether one of the keys that an app pins signed a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sordino_client._errors import PlanRefused, WrongArgument
from sordino_shared.ed25519 import verify
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Manifest, ManifestSignatures, signed_message

MAX_KEYS = 4
_KEY = re.compile("[0-9a-f]{64}")


def listed_keys(keys: Iterable[str], what: str = "manifest_keys") -> tuple[str, ...]:
    """The keys; raises WrongArgument for what holds none."""
    try:
        return tuple(keys)
    except TypeError:
        raise WrongArgument(f"{what} are a list of keys, not {keys!r}", keys) from None


def check_keys(keys: tuple[str, ...]) -> None:
    """Raise `WrongArgument` unless these are up to four public keys."""
    well_formed = all(isinstance(key, str) and _KEY.fullmatch(key) for key in keys)
    if not well_formed or len(keys) > MAX_KEYS or len(set(keys)) < len(keys):
        raise WrongArgument(f"manifest_keys are up to {MAX_KEYS} different Ed25519 keys of 64 hexadecimal digits", keys)


def check_signed(manifest: Manifest, content: bytes | None, keys: tuple[str, ...]) -> None:
    """Raise `PlanRefused` unless a signature in `content` (None: there are none) is that of one of the `keys`."""
    if content is None:
        raise PlanRefused("signature", "nobody signed the manifest, and this app pins keys", manifest.campaign)
    try:
        signed = ManifestSignatures.read(content)
    except SordinoError as error:
        raise PlanRefused("signature", str(error), manifest.campaign) from error
    if signed.campaign != manifest.campaign:
        raise PlanRefused("signature", f"it belongs to campaign {signed.campaign}", manifest.campaign)
    pinned = [each for each in signed.signatures if each.key.hex() in keys]
    if not any(verify(each.key, each.signature, signed_message(manifest)) for each in pinned):
        raise PlanRefused("signature", "none of the keys that this app pins signed the manifest", manifest.campaign)
