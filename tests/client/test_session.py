"""The device trusts nobody: whatever the server serves instead of what it promised is refused, and nothing is spent."""

from __future__ import annotations

import dataclasses

import httpx
import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, PlanRefused, PlanUnavailable, PureEpsilon
from sordino_client._session import draw_assignment
from sordino_shared.domains import Categorical, Domain
from sordino_shared.errors import DigestMismatch, GuaranteeNotMet, MalformedDocument, OversizedDocument
from sordino_shared.protocol import CampaignId, Digest, DrawOneRound, EveryRound, PlanReference, RoundTerms
from sordino_shared.randomizers import RandomizedResponse


@pytest.fixture
def refuse(make_client):
    """Answering on `world` is refused for `cause`, and spends nothing."""

    def check(world, cause: type[Exception] | None, what: str) -> PlanRefused:
        client = make_client(world)
        with pytest.raises(PlanRefused) as caught:
            client.answer(client.join(world.campaign), "red")
        assert caught.value.what == what
        assert cause is None or isinstance(caught.value.__cause__, cause)
        assert client.account().lifetime_nano == 0
        assert client.flush().waiting == 0
        return caught.value

    return check


def test_another_manifest_under_the_same_id(world, refuse) -> None:
    world.manifest_content = dataclasses.replace(world.manifest, purpose="Something harmless.").content
    refuse(world, DigestMismatch, "manifest")


def test_a_manifest_with_one_bit_changed(world, refuse) -> None:
    world.manifest_content = world.manifest_content[:-1] + bytes([world.manifest_content[-1] ^ 1])
    refuse(world, DigestMismatch, "manifest")


def test_bytes_that_are_no_manifest_but_have_the_digest(world, refuse) -> None:
    world.manifest_content = b"\xa0"
    world.campaign = CampaignId.of(b"\xa0")
    refuse(world, MalformedDocument, "manifest")


def test_an_endless_manifest(world, refuse) -> None:
    world.manifest_content = bytes(world.manifest.limit + 1)
    refuse(world, OversizedDocument, "manifest")


def test_a_tampered_device_part(world, refuse) -> None:
    (digest,) = world.parts
    world.parts[digest] = world.parts[digest][:-1] + b"\x00"
    refuse(world, DigestMismatch, "plan")


def test_a_part_whose_integers_prove_more_than_it_claims(world, make_world, refuse) -> None:
    generous = RandomizedResponse.for_guarantee(world.part.domain.size, PureEpsilon.of(1.1))
    refuse(make_world(dataclasses.replace(world.part, randomizer=generous)), GuaranteeNotMet, "plan")


def test_a_part_that_claims_more_than_the_manifest_allows(make_world, make_part, refuse) -> None:
    part = make_part(2.0)
    terms = RoundTerms(PureEpsilon.of(1), PlanReference(part.digest, Digest.of(b"")))
    refuse(make_world(part, rounds=(terms,)), None, "plan")


def test_a_part_for_another_domain(make_world, make_part, refuse) -> None:
    domain = Domain((Categorical("colour", ("red", "blue", "green"), other=True),))
    refuse(make_world(make_part(), domain=domain), None, "plan")


def test_a_task_that_names_another_part_for_the_first_round(world, make_part, refuse) -> None:
    other = make_part(0.5)
    world.parts[other.digest] = other.content
    world.task = dataclasses.replace(world.task, device_parts=(other.digest,))
    refuse(world, None, "task")
    assert not [request for request in world.requests if "/plans/" in request.url.path]


def test_a_task_of_another_campaign(world, refuse) -> None:
    world.task = dataclasses.replace(world.task, campaign=CampaignId.of(b"another"))
    refuse(world, None, "task")


def test_a_task_with_more_rounds_than_the_manifest(world, refuse) -> None:
    world.task = dataclasses.replace(world.task, device_parts=(world.part.digest,) * 2, round=1)
    refuse(world, None, "task")


def test_a_task_that_is_not_a_task(world, refuse) -> None:
    handle = world.handle
    world.handle = lambda r: httpx.Response(200, content=b"<html>") if r.url.path.endswith("/task") else handle(r)
    refuse(world, MalformedDocument, "task")


@pytest.mark.parametrize("path", ["/v1/campaigns/{campaign}", "/v1/campaigns/{campaign}/task", "/v1/plans/{plan}"])
def test_a_document_of_another_media_type_is_refused_and_the_campaign_goes_on(world, make_client, path: str) -> None:
    """A network's login page, or a cache that keeps the JSON of a browser."""
    wrong, handle = path.format(campaign=world.campaign, plan=world.part.digest), world.handle
    page = httpx.Response(200, json={"document": "manifest"})
    world.handle = lambda request: page if request.url.path == wrong else handle(request)
    client = make_client(world)
    with pytest.raises(PlanUnavailable, match="'application/json', not application/cbor"):
        client.answer(client.join(world.campaign), "red")
    world.handle = handle
    assert client.answer(client.join(world.campaign), "red").status is AnswerStatus.RECORDED


def test_one_round_is_drawn_with_the_stated_weight() -> None:
    """4000 draws of probabilities 1/4, 1/2, 1/4: the bound is 5 standard deviations, false alarms below 2e-6.

    With 1/3 each every count is 6 or more away.
    """
    randomness, weights = SeededRandomness(11), (2**30, 2**31, 2**30)
    draws = [draw_assignment(DrawOneRound(weights), randomness) for _ in range(4000)]
    for index, weight in enumerate(weights):
        share = weight / 2**32
        assert abs(draws.count(index) - 4000 * share) < 5 * (4000 * share * (1 - share)) ** 0.5
    assert draw_assignment(EveryRound(), randomness) is None


def test_a_campaign_that_is_not_there_says_what_to_check(client) -> None:
    with pytest.raises(PlanUnavailable, match="check the campaign's id") as caught:
        client.join(str(CampaignId.of(b"nothing")))
    assert caught.value.status == 404
