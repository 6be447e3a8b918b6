"""Rounds whose plan is sealed: what devices will check of it, and the epochs of their report ids."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_server.models import Round
from sordino_server.rounds import repository
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, Manifest, RoundState, epochs_of_source
from sordino_shared.protocol.routes import ShuffledRoute

_DAY_S = 86400


@dataclass(frozen=True, eq=False)
class NextRound:
    """Another round follows from the closed ones: the two parts of its plan."""

    device: DevicePart
    analyst: AnalystPart


def sealed_round(
    manifest: Manifest, index: int, device_digest: str, analyst_digest: str, now: int, place: int = 0
) -> Round:
    """A round whose plan is known, to be opened at the server in `place` of those that the manifest names.

    Where it names some, ids of two servers differ: their epochs follow from the manifest and the place alone.
    """
    shuffled = isinstance(manifest.route, ShuffledRoute)
    base = (manifest.created_at if manifest.servers else now) // _DAY_S % repository.EPOCHS
    epoch, epochs = epochs_of_source(manifest.servers, place, base)
    return Round(
        campaign_id=str(manifest.campaign),
        index=index,
        state=RoundState.PENDING,
        device_digest=device_digest,
        analyst_digest=analyst_digest,
        # Ids of sealed reports are digests.
        epoch=0 if shuffled else epoch,
        epochs=epochs,
        shuffled=shuffled,
        arms=len(manifest.arms),
        with_tokens=manifest.gate is not None,
    )


def check_next_round(manifest: Manifest, index: int, following: NextRound) -> None:
    """Raise InvalidValue unless the plan keeps what the manifest says of round `index`, as every device checks."""
    device, analyst = following.device, following.analyst
    if index >= len(manifest.rounds):
        raise InvalidValue(f"the protocol needs round {index}, the manifest has {len(manifest.rounds)}", following)
    if analyst.device_digest != device.digest:
        raise InvalidValue(f"the two parts of round {index} belong to different plans", following)
    device.domain.places_in(manifest.domain)
    allowed = manifest.rounds[index].guarantee
    check_guarantee(device)
    if device.guarantee > allowed:
        raise InvalidValue(f"the plan of round {index} spends more than the manifest's {allowed}", following)
