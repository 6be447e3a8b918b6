"""/v1/mirror"""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.campaigns import finding, tasks
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import SignatureOrder
from sordino_server.collecting import repository
from sordino_server.collecting.schemas import Mirror, MirroredRound
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.keys.authentication import Aggregator
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.models import Key
from sordino_shared.protocol import CampaignState, Manifest, Problem, RoundState

router = APIRouter(tags=["campaigns"], route_class=OperatorRoute)


def _mirror_of(session: Session, key: Key) -> Mirror:
    """The campaign and source that the key belongs to.

    Raises `forbidden` for a key of no source, and for a source that the manifest does not name: its reports would be
    those of another server.
    """
    if key.campaign_id is None or key.source is None:
        raise ServerError(Problem.FORBIDDEN, "this key belongs to no source; a collector needs one of role aggregator")
    row = campaigns.get(session, key.campaign_id)
    named = [server.name for server in Manifest.read(row.manifest).servers]
    if key.source not in named[1:]:
        raise ServerError(
            Problem.FORBIDDEN,
            f"the manifest of campaign {row.id} names no collector {key.source}; it names: "
            f"{', '.join(named[1:]) or 'none'}",
        )
    known = rounds.of_campaign(session, row.id)
    return Mirror(
        campaign=row.id,
        source=key.source,
        state=CampaignState(row.state),
        rounds=[
            MirroredRound(
                index=each.index,
                state=RoundState(each.state),
                device_digest=each.device_digest,
                analyst_digest=each.analyst_digest,
                opened_at=each.opened_at,
                accept_until=tasks.closes_at(session, each),
                sums=repository.sums_digest(session, each.id, key.source),
            )
            for each in known
        ],
        signatures=[
            SignatureOrder(key=each.key.hex(), signature=each.signature.hex())
            for each in finding.known_signatures(session, row.id)
        ],
    )


@router.get("/mirror")
def get_mirror(context: Injected, key: Aggregator) -> Mirror:
    """What a collector mirrors: state and rounds of the campaign that its key belongs to."""
    with context.database.read("get mirror") as session:
        return _mirror_of(session, key)
