"""Sealed reports open for whom they are sealed and for nothing else; statements are signed as the page says."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import BatchStatement, CampaignId, Digest, SealedReports, ShuffledPage
from sordino_shared.protocol.codec import decode_value, encode_value
from sordino_shared.protocol.sealed import (
    opened_plaintext,
    root_of,
    sealed_id,
    sealed_plaintext,
    sealed_width,
    sealing_info,
)

SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


@pytest.fixture
def sealed(vectors: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = vectors["good/sealed"]
    return found


def _open(sealed: dict[str, Any], content: bytes, info: bytes) -> bytes:
    secret = X25519PrivateKey.from_private_bytes(bytes.fromhex(sealed["collector_secret"]))
    return SUITE.decrypt(content, secret, info)


def test_sealed_reports_open_to_what_the_layout_says(sealed: dict[str, Any]) -> None:
    campaign, plan = CampaignId.parse(sealed["campaign"]), Digest.parse(sealed["device_digest"])
    for case in sealed["vectors"]:
        content, payload, arm = bytes.fromhex(case["sealed"]), bytes.fromhex(case["payload"]), case["arm"]
        info = sealing_info(campaign, case["round"], plan)
        assert info.hex() == case["info"]
        assert len(info) == 97
        assert info == b"sordino sealed report v1\0" + campaign + case["round"].to_bytes(8, "big") + plan
        arms = case["arms"]
        assert _open(sealed, content, info) == sealed_plaintext(arm or 0, arms, payload)
        assert opened_plaintext(bytes.fromhex(case["plaintext"]), arms) == (arm or 0, payload)
        assert len(content) == sealed_width(len(payload), arms) == 48 + len(payload) + (arm is not None)
        assert sealed_id(content).hex() == case["id"] == hashlib.sha256(content).hexdigest()[:32]


def test_what_was_changed_or_is_for_another_round_opens_to_nothing(sealed: dict[str, Any]) -> None:
    first = sealed["vectors"][0]
    info = bytes.fromhex(first["info"])
    for content in sealed["unopenable"]:
        with pytest.raises((InvalidTag, ValueError)):
            _open(sealed, bytes.fromhex(content), info)
    for place in range(len(info)):
        other = info[:place] + bytes([info[place] ^ 1]) + info[place + 1 :]
        with pytest.raises(InvalidTag):
            _open(sealed, bytes.fromhex(first["sealed"]), other)


def test_a_report_of_an_arm_that_the_campaign_does_not_have_opens_and_is_refused(sealed: dict[str, Any]) -> None:
    for case in sealed["no_such_arm"]:
        content, plaintext = bytes.fromhex(case["sealed"]), bytes.fromhex(case["plaintext"])
        assert _open(sealed, content, bytes.fromhex(case["info"])) == plaintext
        assert len(content) == sealed_width(len(plaintext) - 1, case["arms"])
        assert opened_plaintext(plaintext, case["arms"]) is None
    assert opened_plaintext(b"", 2) is None


def test_an_arm_is_one_of_those_there_are() -> None:
    assert sealed_plaintext(0, 0, b"x") == b"x"
    assert sealed_plaintext(1, 2, b"x") == b"\x01x"
    for arm, arms in ((1, 0), (2, 2), (16, 16), (-1, 2)):
        with pytest.raises(InvalidValue):
            sealed_plaintext(arm, arms, b"x")


def test_a_page_and_its_statement_name_the_same_reports(vectors: dict[str, Any]) -> None:
    pages = {v["name"]: ShuffledPage.read(bytes.fromhex(v["hex"])) for v in vectors["good/shuffled_page"]["vectors"]}
    said = {v["name"]: BatchStatement.read(bytes.fromhex(v["hex"])) for v in vectors["good/batch_statement"]["vectors"]}
    page = pages["five"]
    assert page.ids() == sorted(page.ids())
    assert root_of(page.ids()) == said["time"].root == Digest.of(b"".join(page.ids()))
    batch = SealedReports(page.sealed, page.count)
    assert [sealed_id(each) for each in batch.reports()] == page.ids()


def test_a_statement_is_signed_with_zeros_for_the_signature(vectors: dict[str, Any]) -> None:
    for case in vectors["good/batch_statement"]["vectors"]:
        said = BatchStatement.read(bytes.fromhex(case["hex"]))
        plain = decode_value(said.content, len(said.content)) | {"signature": bytes(64)}
        message = b"sordino batch v1\0" + hashlib.sha256(encode_value(plain)).digest()
        assert said.signed_message == message
        Ed25519PublicKey.from_public_bytes(said.key).verify(said.signature, message)
        assert replace(said, campaign=CampaignId(bytes(32))).signed_message != message
