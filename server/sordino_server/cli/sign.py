"""`sordino campaigns sign`: vouch for a campaign's manifest with an Ed25519 key that never leaves this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Shown, remote_command
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, Manifest, signed_message


@remote_command
def sign(
    remote: Remote,
    campaign: CampaignArgument,
    signing_key: Annotated[Path, typer.Option(metavar="FILE", help="Ed25519 private key in PEM, without password.")],
) -> Shown:
    """Sign a campaign's manifest, for apps that pin your public key.

    Example, with a key made once by `openssl genpkey -algorithm ed25519 -out operator.pem`:

        sordino campaigns sign delays --signing-key operator.pem

    Prints the public key that apps pin. The private key stays on this machine.
    """
    # Imported here: it comes with the audit of plans, which the other commands on campaigns do not need.
    from sordino_server.cli.audited_campaign import fetched

    private = _private_key(signing_key)
    identifier = remote.campaign_id(campaign)
    content = fetched(remote.address, f"/v1/campaigns/{identifier}", Manifest.limit)
    if content is None:
        raise InvalidValue(f"{remote.address} has no campaign {identifier}", identifier)
    manifest = Manifest.read(content, CampaignId.parse(identifier))
    signed = {
        "key": private.public_key().public_bytes_raw().hex(),
        "signature": private.sign(signed_message(manifest)).hex(),
    }
    remote.post(f"/v1/campaigns/{identifier}/signatures", signed)
    return {"campaign": identifier} | signed, [f"campaign {identifier} is signed", f"public key {signed['key']}"]


def _private_key(path: Path) -> Any:
    # Other commands need not wait for it.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidValue(f"{path} is no private key in PEM without a password: {error}", path) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise InvalidValue(f"{path} is a key of another kind; make one with openssl genpkey -algorithm ed25519", path)
    return private
