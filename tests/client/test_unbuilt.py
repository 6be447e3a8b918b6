"""Manifests with what the SDK reads and cannot answer yet: no campaign of them is joined, and nothing is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sordino_client import PlanRefused
from sordino_shared.protocol import Arm, OwnerText
from tests.vectors.routes import SHUFFLED

ARMS = (Arm("A", 2**15), Arm("B", 2**15))
TEXTS = (OwnerText(language="de", purpose="Welche Farbe.", contact=None, link=None),)
UNBUILT = [({"arms": ARMS}, "`arms`"), ({"texts": TEXTS}, "`texts`"), ({"arms": ARMS, "route": SHUFFLED}, "`arms`")]


@pytest.mark.parametrize(("fields", "named"), UNBUILT)
def test_it_is_not_joined(make_world: Any, make_client: Any, fields: dict[str, Any], named: str) -> None:
    world = make_world(**fields)
    client = make_client(world)
    with pytest.raises(PlanRefused, match=f"not built yet.*{named}") as refused:
        client.join(world.campaign)
    assert refused.value.campaign == world.campaign
    assert client.account().campaigns == ()
    assert len(world.requests) == 1


def test_a_list_with_one_is_joined_without_it(make_world: Any, make_client: Any, clock: Any) -> None:
    from tests.client.test_finding import Listed, _look

    plain, unbuilt = make_world(purpose="A question."), make_world(purpose="Another.", arms=ARMS)
    listed = Listed(plain, unbuilt)
    client = make_client(listed)
    found = _look(client, clock)
    assert (found.joined, found.refused) == ((plain.campaign,), (unbuilt.campaign,))


def test_a_task_is_signed_exactly_where_the_campaign_is_shuffled(world: Any, make_client: Any) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    world.task = replace(world.task, number=1, signature=bytes(64))
    with pytest.raises(PlanRefused, match="signed"):
        client.answer(campaign, "red")
    assert client.account().lifetime_nano == 0
