"""What an order for a shuffled campaign must fit, and when such a campaign ends."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.models import Campaign
from sordino_server.plans import service as plans
from sordino_server.plans.service import ReadyPlan
from sordino_server.shuffled.round_keys import NewKeys, RoundKeys
from sordino_server.shuffled.route_terms import route_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Issuer, Manifest
from sordino_shared.protocol.routes import DIRECT, Route, ShuffledRoute, TokenRoute
from sordino_shared.quantities import quantity

_DAY_S = 86_400


def with_end(order: CampaignOrder, now: int) -> CampaignOrder:
    """The order with the end of its route, which for an experiment is that of its days.

    Raises InvalidValue where it names another end.
    """
    if order.route is None or order.experiment is None or order.series is not None:
        return order
    days, end = order.experiment.days, order.route.end
    if end is None:
        return order.model_copy(update={"route": order.route.model_copy(update={"end": now + _DAY_S * days})})
    if (left := -((now - end) // _DAY_S)) != days:
        raise InvalidValue(
            f"/experiment/days: the shuffler takes reports for {quantity(max(0, left), 'day')} from now, until "
            f"/route/end, and the experiment has {quantity(days, 'day')}: leave end out, or make both agree",
            days,
        )
    return order


def new_keys(order: CampaignOrder, now: int, round_keys: RoundKeys | None) -> NewKeys:
    """Raises InvalidValue for what a shuffled campaign cannot have."""
    if round_keys is None:
        raise InvalidValue(
            "/route: this server keeps no keys of shuffled campaigns: set SORDINO_ROUND_KEYS to a folder, for workers "
            "too"
        )
    assert order.route is not None
    given = {
        "upload_token": order.upload_token,
        "close_after_reports": order.close_after_reports is not None,
        "close_after_s": order.close_after_s is not None,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise InvalidValue(f"/{name}: a round of a shuffled campaign ends when its shuffler says: leave {name} out")
    spans, end = order.route.spans(order.series is not None), order.route.end
    if end is not None and end <= now:
        raise InvalidValue(f"/route/end: it is past, now is {now}", end)
    return NewKeys.make(spans)


def route_of_order(
    session: Session, order: CampaignOrder, ready: ReadyPlan, keys: NewKeys | None, issuer: Issuer | None
) -> Route:
    """The route of a new campaign; raises InvalidValue where the plan is for the other one."""
    if order.route is not None and keys is not None:
        return route_of(order.route, plans.analyst_part(session, ready.analyst), keys, issuer)
    planned = None if ready.summary is None else ready.summary.linear or ready.summary.strings
    if planned is not None and planned.blanket is not None:
        raise InvalidValue(
            f"/route: the plan spends ε {planned.epsilon:g} of a device because a shuffler mixes in random reports: "
            "name the shuffler, or plan without collector"
        )
    return DIRECT if issuer is None else TokenRoute(issuer)


def end_of(campaign: Campaign) -> int | None:
    """When the shuffler of a round takes the last report; None where there is no shuffler, and for a series."""
    route = Manifest.read(campaign.manifest).route
    return route.end if isinstance(route, ShuffledRoute) else None


def is_shuffled(campaign: Campaign) -> bool:
    """Whether devices report to a shuffler."""
    return isinstance(Manifest.read(campaign.manifest).route, ShuffledRoute)
