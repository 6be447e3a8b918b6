"""The route of a new campaign: shuffler, keys and the claims of its plan."""

from __future__ import annotations

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_server.shuffled.round_keys import NewKeys
from sordino_server.shuffled.schemas import RouteOrder
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.routes import SUITE, CollectorKey, ShuffledRoute, Shuffler
from sordino_shared.protocol.tokens import Issuer


def route_of(order: RouteOrder, analyst: AnalystPart, keys: NewKeys, issuer: Issuer | None) -> ShuffledRoute:
    """Raises InvalidValue for a plan that was not made for a shuffler."""
    terms = analyst.blanket
    if terms is None:
        raise InvalidValue("/route: the plan is for devices that report to the server: plan with collector, too")
    return ShuffledRoute(
        shuffler=Shuffler(order.name, tuple(order.urls), bytes.fromhex(order.key)),
        suite=SUITE,
        keys=tuple(CollectorKey(first, public) for first, (_, public) in keys.opening.items()),
        floor=order.floor,
        blanket=terms.reports,
        end=order.end,
        task_key=keys.task_public,
        claims=terms.claims,
        headline=terms.headline,
        issuer=issuer,
    )
