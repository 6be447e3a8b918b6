"""What devices find campaigns by: the list of what is open for a population, and signatures of manifests."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.campaigns import repository, service
from sordino_server.campaigns.schemas import SignatureOrder
from sordino_server.errors import ServerError
from sordino_server.models import ManifestSignature
from sordino_server.public_log.signers import check_signer
from sordino_server.rounds import round_lifecycle
from sordino_shared.ed25519 import verify
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import (
    CampaignId,
    EveryRound,
    KeySignature,
    Manifest,
    ManifestSignatures,
    OpenCampaigns,
    Problem,
    signed_message,
)
from sordino_shared.protocol.finding import MAX_LISTED, MAX_SIGNATURES


def open_list(session: Session, population: str) -> OpenCampaigns:
    """The campaigns of one round that are open for `population`, the last opened ones where they are too many.

    Its number is how often a campaign of the population opened or ended: it follows from the rows, which stay.
    """
    manifests = [Manifest.read(row.manifest) for row in repository.open_for(session, population)]
    listed = [each.campaign for each in manifests if len(each.rounds) == 1 and isinstance(each.assignment, EveryRound)]
    number = repository.count_of_changes(session, population)
    return OpenCampaigns(population=population, number=number, campaigns=tuple(sorted(listed[:MAX_LISTED])))


def signatures_of(session: Session, identifier: str) -> ManifestSignatures:
    """The signatures of a campaign's manifest; raises `not-found` where there are none."""
    service.get(session, identifier)
    signed = known_signatures(session, identifier)
    if not signed:
        raise ServerError(Problem.NOT_FOUND, "nobody signed the manifest of this campaign")
    return ManifestSignatures(CampaignId.parse(identifier), signed)


def known_signatures(session: Session, identifier: str) -> tuple[KeySignature, ...]:
    """The same, none where there are none."""
    return tuple(KeySignature(row.key, row.signature) for row in repository.signatures(session, identifier))


def sign(session: Session, identifier: str, order: SignatureOrder, now: int) -> None:
    """Keep a signature that holds; one of the same key is the same, since Ed25519 draws nothing.

    Raises InvalidValue for a signature that does not hold, beyond four keys, and for a key that ended.
    """
    manifest = Manifest.read(round_lifecycle.lock_campaign(session, identifier).manifest)
    key, signature = bytes.fromhex(order.key), bytes.fromhex(order.signature)
    if not verify(key, signature, signed_message(manifest)):
        raise InvalidValue("the signature does not hold: sign the 84 bytes of the manifest's message with this key")
    known = {row.key for row in repository.signatures(session, identifier)}
    if key not in known and len(known) >= MAX_SIGNATURES:
        raise InvalidValue(f"the manifest has the signatures of {MAX_SIGNATURES} keys, and no more are allowed")
    check_signer(session, key, now)
    keep_signature(session, identifier, order, now)


def keep_signature(session: Session, identifier: str, order: SignatureOrder, now: int) -> None:
    """Keep a signature that was verified, or that devices alone verify."""
    key, signature = bytes.fromhex(order.key), bytes.fromhex(order.signature)
    row = ManifestSignature(campaign_id=identifier, key=key, signature=signature, created_at=now)
    repository.add_signature(session, row)
