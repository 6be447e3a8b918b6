"""Manifests with what the SDK reads and cannot answer yet: no campaign of them is joined, and nothing is kept.

Which these are `tests/shared/protocol/test_routes.py` pins: every good manifest is tried here, and refused or not.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sordino_client import PlanRefused
from sordino_client._session import check_joinable
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm, CampaignServer, Manifest, check_built
from tests.client.conftest import ADDRESS

VECTORS = Path(__file__).parents[1] / "vectors" / "v1" / "good" / "manifest.json"
MANIFESTS = {
    each["name"]: Manifest.read(bytes.fromhex(each["hex"])) for each in json.loads(VECTORS.read_text())["vectors"]
}
ARMS = (Arm("A", 1 << 15), Arm("B", 1 << 15))
HOME = (CampaignServer(name="home", urls=(ADDRESS,)), CampaignServer(name="de", urls=("https://de.example",)))
# Strings are found in the log of one server.
MANIFESTS["strings_of_servers"] = replace(MANIFESTS["strings"], servers=HOME)


def reason(manifest: Manifest) -> str | None:
    try:
        check_built(manifest)
    except InvalidValue as error:
        return str(error)
    return None


UNBUILT = {name: reason(manifest) for name, manifest in MANIFESTS.items()}


@pytest.mark.parametrize("name", [name for name, why in UNBUILT.items() if why is not None])
def test_it_is_not_joined(make_world: Any, make_client: Any, name: str) -> None:
    world = make_world()
    world.manifest = manifest = MANIFESTS[name]
    world.manifest_content, world.campaign = manifest.content, manifest.campaign
    client = make_client(world)
    with pytest.raises(PlanRefused, match="not built yet") as refused:
        client.join(world.campaign)
    assert f"{UNBUILT[name]}; a later version of the SDK may join it" in str(refused.value)
    assert refused.value.campaign == world.campaign
    assert client.account().campaigns == ()
    assert len(world.requests) == 1


@pytest.mark.parametrize("name", [name for name, why in UNBUILT.items() if why is None])
def test_what_is_built_is_not_refused_for_it(name: str) -> None:
    check_joinable(MANIFESTS[name])


def test_a_list_with_one_is_joined_without_it(make_world: Any, make_client: Any, clock: Any) -> None:
    from tests.client.test_finding import Listed, _look

    plain, unbuilt = make_world(purpose="A question."), make_world(purpose="Another.", arms=ARMS, servers=HOME)
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
