"""What a collector refuses of a shuffler and of devices behind it, one by one, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_server.keys import service as keys
from sordino_server.models import Role
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, Digest, Problem
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement, sealing_info
from sordino_shared.sealing import make_key, seal
from tests.patience import PATIENCE_S
from tests.server.shuffled.collected import USERS, Shuffled, create

Check = Callable[..., Any]
# Encapsulated keys of small order: 0, 1, an element of order 8, and p − 1 (RFC 7748, and "May the Fourth" of 2017).
LOW_ORDER = (
    bytes(32),
    b"\x01" + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
)


def _misdirected(shuffled: Shuffled) -> list[bytes]:
    """Reports that a device could have made, sealed for another key, round, campaign or plan, or to a bad point."""
    part = shuffled.home.device_part(shuffled.campaign)
    campaign, key = CampaignId.parse(shuffled.campaign["id"]), shuffled.route.key_of(0)
    payload = bytes(part.randomizer.payload_bytes)
    other = CampaignId(bytes(campaign)[::-1])
    found = [
        seal(make_key()[1], sealing_info(campaign, 0, part.digest), payload),
        seal(key, sealing_info(campaign, 1, part.digest), payload),
        # Two campaigns with one key: what is sealed for the one does not open in the other.
        seal(key, sealing_info(other, 0, part.digest), payload),
        seal(key, sealing_info(campaign, 0, Digest(bytes(32))), payload),
    ]
    sound = seal(key, sealing_info(campaign, 0, part.digest), payload)
    return [*found, *(point + sound[len(point) :] for point in LOW_ORDER), bytes(len(sound)), b"\xff" * len(sound)]


def test_reports_for_another_key_round_campaign_or_plan_count_as_refused(shuffled: Shuffled) -> None:
    wrong = _misdirected(shuffled)
    shuffled.release([*shuffled.sealed([0] * USERS), *wrong, *shuffled.blanket()])
    shuffled.end()
    status = shuffled.status()
    (row,) = status["rounds"]
    assert (row["state"], row["users"], row["batch"]["refused"]) == ("estimated", USERS, len(wrong))
    assert status["refusals"] == {"unopenable": len(wrong)}


@pytest.mark.parametrize("shuffled", ["sqlite"], indirect=True)
def test_every_flipped_bit_of_a_report_is_refused(shuffled: Shuffled) -> None:
    (sound,) = shuffled.sealed([1])
    flipped = []
    for bit in range(8 * len(sound)):
        report = bytearray(sound)
        report[bit // 8] ^= 1 << bit % 8
        flipped.append(bytes(report))
    shuffled.release([*shuffled.sealed([0] * USERS), sound, *flipped, *shuffled.blanket()])
    shuffled.end()
    (row,) = shuffled.status()["rounds"]
    # X25519 ignores the highest bit of a point, but HPKE binds all bytes of it.
    assert (row["users"], row["batch"]["refused"]) == (USERS + 1, len(flipped))


def test_a_key_belongs_to_one_campaign(shuffled: Shuffled, check_problem: Check) -> None:
    home = shuffled.home
    other = create(home, "cd" * 32, floor=51).raise_for_status().json()
    home.api.post(f"/v1/campaigns/{other['id']}/open").raise_for_status()
    with home.database.write("test key") as session:
        stranger = keys.create(session, "other", Role.SHUFFLER, home.clock.now(), other["id"])
        analyst = keys.create(session, "analyst", Role.ANALYST, home.clock.now())
    reports = [*shuffled.sealed([0] * USERS), *shuffled.blanket()]
    first, statement = shuffled.pages(reports)[0], shuffled.statement(reports)
    for key in (stranger.text, analyst.text):
        check_problem(shuffled.push(first, key), Problem.FORBIDDEN)
        check_problem(shuffled.state(statement, key), Problem.FORBIDDEN)
    check_problem(shuffled.push(first, "sdo_shuffler_none"), Problem.UNAUTHORIZED)
    # A page of this campaign under the path of the other one, by the other's key.
    assert _sent(shuffled, other["id"], first.content, stranger.text).status_code == 422
    assert shuffled.status()["rounds"][0]["batch"]["next_page"] == 0
    assert shuffled.push(first).status_code == 201


def _sent(shuffled: Shuffled, campaign: str, content: bytes, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": CBOR_MEDIA_TYPE}
    path = f"{shuffled.home.address}/v1/campaigns/{campaign}/rounds/0/batch/0"
    return httpx.post(path, content=content, headers=headers, timeout=PATIENCE_S)


def test_bodies_of_any_wrong_length_are_refused(unchanged: Shuffled) -> None:
    width = len(unchanged.sealed([0])[0])
    lengths = (0, 1, 47, 48, width - 1, width, width + 1, 1 << 16, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 5 << 20)
    statuses = {length: _sent(unchanged, unchanged.campaign["id"], bytes(length), unchanged.key) for length in lengths}
    assert {length: answer.status_code for length, answer in statuses.items()} == {
        length: 413 if length > 4 << 20 else 400 for length in lengths
    }
    assert unchanged.status()["rounds"][0]["batch"]["reports"] == 0


def test_statements_of_another_key_or_below_the_floor_are_refused(shuffled: Shuffled, check_problem: Check) -> None:
    few = [*shuffled.sealed([0] * 49), *shuffled.blanket()]
    for page in shuffled.pages(few):
        assert shuffled.push(page).status_code == 201
    check_problem(shuffled.state(shuffled.statement(few)), Problem.BATCH_CONFLICT, "below the floor of 50")
    stranger = Ed25519PrivateKey.generate()
    public = stranger.public_key().public_bytes_raw()
    for statement in (shuffled.statement(few, key=public), shuffled.statement([], BatchEnd.MISSED, key=public)):
        signed = replace(statement, signature=stranger.sign(statement.signed_message))
        check_problem(shuffled.state(signed), Problem.INVALID_REQUEST, "not signed by mix")
    sound = shuffled.statement([], BatchEnd.MISSED)
    for changed in ({"received": 30}, {"ended": BatchEnd.ABANDONED}):
        check_problem(shuffled.state(replace(sound, **changed)), Problem.INVALID_REQUEST, "not signed by mix")
    other: BatchStatement = shuffled.statement(few, round=1)
    check_problem(shuffled.state(other), Problem.INVALID_REQUEST, "round 1")
    assert shuffled.status()["rounds"][0]["batch"]["state"] == "receiving"
    # What is true is taken after all of them.
    assert shuffled.state(sound).status_code == 201


def test_a_round_that_takes_no_batch_says_so(shuffled: Shuffled, check_problem: Check) -> None:
    home = shuffled.home
    reports = [*shuffled.sealed([0] * USERS), *shuffled.blanket()]
    home.api.post(f"{shuffled.path}/cancel").raise_for_status()
    check_problem(shuffled.push(shuffled.pages(reports)[0]), Problem.ILLEGAL_TRANSITION, "cancelled")
    check_problem(shuffled.state(shuffled.statement(reports)), Problem.ILLEGAL_TRANSITION, "cancelled")
    ready = create(home, shuffled.signing.public_key().public_bytes_raw().hex(), floor=52).raise_for_status().json()
    with home.database.write("test key") as session:
        key = keys.create(session, "mix", Role.SHUFFLER, home.clock.now(), ready["id"]).text
    early = replace(shuffled.pages(reports)[0], campaign=CampaignId.parse(ready["id"]))
    check_problem(_sent(shuffled, ready["id"], early.content, key), Problem.ROUND_NOT_OPEN, "has not begun")
    unknown = CampaignId(bytes(32))
    lost = _sent(shuffled, str(unknown), replace(early, campaign=unknown).content, home.admin_key)
    check_problem(lost, Problem.NOT_FOUND)


def test_pages_of_a_batch_that_was_withheld_are_gone_and_no_more_come(shuffled: Shuffled, check_problem: Check) -> None:
    reports = [*shuffled.sealed([0] * USERS), *shuffled.blanket()]
    first, second, *_ = shuffled.pages(reports)
    assert shuffled.push(first).status_code == 201
    assert shuffled.state(shuffled.statement([], BatchEnd.ABANDONED)).status_code == 201
    for page in (first, second):
        check_problem(shuffled.push(page), Problem.BATCH_CONFLICT, "its statement is here")
    assert shuffled.status()["rounds"][0]["batch"]["reports"] == 0
