"""A device joins a campaign about numbers, answers whatever its value is, and tells its owner what is clipped."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from sordino_client import AnswerStatus
from sordino_shared.domains import Domain, Number
from sordino_shared.errors import OutsideDomain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Dithered, RandomizedResponse

LOAD = Domain((Number("load_ms", 0.0, 60000.0, unit="ms"),))
GUARANTEE = PureEpsilon.of(1)


def part() -> DevicePart:
    inner = RandomizedResponse.for_guarantee(17, GUARANTEE)
    return DevicePart(LOAD, GUARANTEE, Dithered((tuple(level << 28 for level in range(17)),), inner))


@pytest.mark.parametrize(
    "value", [812.4, 0, 10**400, -5, 1e308, math.nan, math.inf, None, "812.4", "fast", Fraction(1, 3), True, [1]]
)
def test_whether_a_device_answers_does_not_depend_on_its_number(make_world: Any, make_client: Any, value: Any) -> None:
    world = make_world(part())
    client = make_client(world)
    campaign = client.join(world.campaign)
    assert client.answer(campaign, value).status is AnswerStatus.RECORDED
    assert client.flush().delivered == 1
    assert len(world.counted) == 1


@pytest.mark.parametrize("value", [math.nan, None, "fast", 60000.1, -1])
def test_the_tests_of_an_app_refuse_what_is_no_number_of_the_range(value: Any) -> None:
    with pytest.raises(OutsideDomain):
        LOAD.encode(value, strict=True)


def test_the_account_says_what_is_clipped(make_world: Any, make_client: Any) -> None:
    world = make_world(part())
    client = make_client(world)
    client.join(world.campaign)
    [campaign] = client.account().campaigns
    assert campaign.clipped == ("load_ms: numbers below 0 ms count as 0 ms, numbers above 60000 ms as 60000 ms",)
    assert "numbers outside of a range count as its end:" in str(client.account())
    assert "> load_ms: numbers below 0 ms count as 0 ms" in str(client.account())
