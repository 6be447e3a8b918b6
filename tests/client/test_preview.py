"""A preview shows what an answer would send: it makes no request, writes nothing, and says the same as the answer."""

from __future__ import annotations

import dataclasses

import pytest

from sordino_client import AnswerStatus, NotJoined, PlanUnavailable
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import ReportBatch


def test_it_says_what_the_answer_then_sends(world, client, ledger) -> None:
    campaign = client.join(world.campaign)
    requests, content = len(world.requests), ledger.read_bytes()
    preview = client.preview(campaign, "green")
    assert (len(world.requests), ledger.read_bytes()) == (requests, content)
    assert client.account().lifetime_nano == 0
    answer = client.answer(campaign, "green")
    client.flush()
    batch = ReportBatch.read(world.bodies[0])
    assert (preview.campaign, preview.round, preview.plan) == (world.campaign, answer.round, batch.device_digest)
    assert preview.guarantee == answer.guarantee
    assert (preview.payload_bytes, preview.upload_bytes) == (len(batch.payloads), len(world.bodies[0]))
    assert str(preview.plan) in str(preview)
    assert preview.example.hex() in str(preview)


def test_an_example_is_a_draw_for_the_value_and_no_example_is_the_report(make_world, make_part, make_client) -> None:
    """Over 400 previews the value itself comes most often; an even law does that with probability below 10^-9."""
    world = make_world(make_part(4.0))
    client = make_client(world)
    campaign = client.join(world.campaign)
    drawn = [client.preview(campaign, "green").example for _ in range(400)]
    (green,) = world.part.domain.codes("green")
    most = max(set(drawn), key=drawn.count)
    assert (int.from_bytes(most, "little"), drawn.count(most) > 300) == (green, True)
    assert len(set(drawn)) > 1
    assert client.account().lifetime_nano == 0


def test_what_it_refuses(world, make_client, make_world) -> None:
    client = make_client()
    with pytest.raises(NotJoined):
        client.preview(world.campaign, "red")
    other = make_world(created_at=1)
    part = other.parts.popitem()
    unlucky = make_client(other)
    campaign = unlucky.join(other.campaign)
    with pytest.raises(PlanUnavailable, match="answer"):
        unlucky.preview(campaign, "red")
    other.parts = dict([part])
    assert unlucky.answer(campaign, "red").status is AnswerStatus.RECORDED
    assert unlucky.preview(campaign, "red").guarantee == world.part.guarantee
    with pytest.raises(InvalidValue):
        unlucky.preview(campaign, {"hue": "red"})
    assert dataclasses.is_dataclass(unlucky.preview(campaign, "red"))
