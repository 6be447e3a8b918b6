"""The SDK records and refuses what `good/caps.json` says, at the times that it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sordino_client import AnswerStatus, BudgetExceeded, Caps, Client, PureEpsilon
from sordino_shared.protocol import EveryRound, Rotating
from sordino_shared.protocol.schema import from_plain
from tests.client.conftest import ADDRESS, DAY_S, ManualClock, Phase, World, device_part
from tests.client.test_caps_hold import Servers

SCRIPTS = json.loads((Path(__file__).parents[1] / "vectors" / "v1" / "good" / "caps.json").read_text())


def outcome(client: Client, world: World) -> str:
    try:
        status = client.answer(world.campaign, "red").status
    except BudgetExceeded as refused:
        return "refused_lifetime" if refused.scope == "for life" else "refused_period"
    return "recorded" if status is AnswerStatus.RECORDED else "not_asked"


def world_of(campaign: dict[str, Any], number: int, nano: int) -> World:
    kind = Rotating if campaign["assignment"]["kind"] == "rotating" else EveryRound
    law = from_plain(kind, campaign["assignment"])
    most = law.answers_max if isinstance(law, Rotating) else 1
    guarantee = PureEpsilon(most * nano)
    return World(device_part(nano / 10**9), created_at=number, assignment=law, device_guarantee=guarantee)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script["name"])
def test_a_script_of_tries(script: dict[str, Any]) -> None:
    clock, caps = ManualClock(), script["caps"]
    worlds = [world_of(campaign, number, script["nano"]) for number, campaign in enumerate(script["campaigns"])]
    phase = Phase(0)
    owner = Caps(PureEpsilon(caps["per_period"]), caps["period_s"] // DAY_S, PureEpsilon(caps["lifetime"]))
    transport = Servers(worlds)
    with Client(ADDRESS, ledger=":memory:", caps=owner, transport=transport, clock=clock, randomness=phase) as client:
        for world, campaign in zip(worlds, script["campaigns"], strict=True):
            phase._phase = campaign["phase"] or 0
            client.join(world.campaign)
        made = []
        for each in script["tries"]:
            clock.time = float(each["clock"])
            assert outcome(client, worlds[each["campaign"]]) == each["outcome"], each
            account = client.account()
            assert account.period_nano == each["spent_in_period"], each
            if each["outcome"] == "recorded":
                made.append((each["campaign"], each["period"] or 0, each["at"]))
        numbers = {str(world.campaign): number for number, world in enumerate(worlds)}
        entries = [(numbers[one.campaign], entry.round, entry.at) for one in account.campaigns for entry in one.entries]
        assert sorted(entries) == sorted(made)


def test_the_scripts_know_every_outcome() -> None:
    outcomes = {each["outcome"] for script in SCRIPTS for each in script["tries"]}
    assert outcomes == {"recorded", "not_asked", "refused_period", "refused_lifetime"}
