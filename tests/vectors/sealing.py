"""Sealed reports with fixed ephemeral keys, pages and statements, and what is one past their ranges.

HPKE is written out here from RFC 9180, since no library takes an ephemeral key; the library opens what comes of it.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from routes import COLLECTOR_KEYS, COLLECTOR_SECRETS, SHUFFLER_SECRET

from sordino_shared.protocol import (
    BatchEnd,
    BatchStatement,
    CampaignId,
    Digest,
    Document,
    SealedOutcomes,
    SealedReports,
    ShuffledPage,
)
from sordino_shared.protocol.sealed import root_of, sealed_id, sealed_plaintext, sealing_info

CAMPAIGN, PLAN = CampaignId(Digest.of(b"campaign")), Digest.of(b"device part")
_KEM, _SUITE = b"KEM" + bytes.fromhex("0020"), b"HPKE" + bytes.fromhex("002000010001")


def seal(ephemeral: bytes, public: bytes, info: bytes, plaintext: bytes) -> bytes:
    """enc ‖ ciphertext of RFC 9180, base mode: X25519, HKDF-SHA256, AES-128-GCM, no additional data."""
    secret = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = secret.public_key().public_bytes_raw()
    exchanged = secret.exchange(X25519PublicKey.from_public_bytes(public))
    prk = _extract(_KEM, b"", b"eae_prk", exchanged)
    shared = _expand(_KEM, prk, b"shared_secret", enc + public, 32)
    context = b"\x00" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    scheduled = _extract(_SUITE, shared, b"secret", b"")
    key, nonce = _expand(_SUITE, scheduled, b"key", context, 16), _expand(_SUITE, scheduled, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plaintext, b"")


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labeled + b"\x01", hashlib.sha256)[:length]


def _report(number: int, arm: int = 0, arms: int = 0, index: int = 0, payload: bytes = b"\x05") -> dict[str, Any]:
    ephemeral = Digest.of(b"ephemeral" + bytes([number]))
    # A device that is not honest seals an arm that the campaign does not have.
    strange = arm >= max(arms, 1)
    plaintext = bytes([arm]) + payload if strange else sealed_plaintext(arm, arms, payload)
    info = sealing_info(CAMPAIGN, index, PLAN)
    sealed = seal(ephemeral, COLLECTOR_KEYS[0], info, plaintext)
    return {
        "round": index,
        "arm": arm if arms else None,
        "arms": arms,
        "payload": payload.hex(),
        "ephemeral_secret": ephemeral.hex(),
        "info": info.hex(),
        "plaintext": plaintext.hex(),
        "sealed": sealed.hex(),
        "id": sealed_id(sealed).hex(),
    }


def sealed() -> dict[str, Any]:
    """The file of sealed reports: of each what is sealed, with which ephemeral key, the bytes and their id."""
    reports = [
        _report(1),
        _report(2, arm=0, arms=2),
        _report(3, arm=15, arms=16),
        _report(4, index=2**32 + 1, payload=bytes(range(17))),
        _report(5, index=2**53 - 1),
    ]
    opened = bytes.fromhex(reports[0]["sealed"])
    places = (0, 31, 32, len(opened) - 1)
    flipped = [bytes([*opened[:place], opened[place] ^ 1, *opened[place + 1 :]]) for place in places]
    unopenable = [*flipped, opened[:-1], opened + b"\x00", opened[:47], bytes(32) + opened[32:], b""]
    strange = [_report(6, arm=2, arms=2), _report(7, arm=16, arms=16), _report(8, arm=255, arms=2)]
    head = {
        "about": "HPKE base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, no additional data",
        "campaign": str(CAMPAIGN),
        "device_digest": str(PLAN),
        "collector_secret": COLLECTOR_SECRETS[0].private_bytes_raw().hex(),
        "collector_key": COLLECTOR_KEYS[0].hex(),
    }
    refused = {"unopenable": [each.hex() for each in unopenable], "no_such_arm": strange}
    return {"good/sealed.json": head | {"vectors": reports} | refused}


def _sorted_page() -> tuple[list[bytes], bytes]:
    reports = sorted((bytes.fromhex(_report(n)["sealed"]) for n in range(1, 6)), key=sealed_id)
    return reports, b"".join(reports)


def statement(**fields: Any) -> BatchStatement:
    """Signed by the key whose secret is 32 times the byte 10."""
    unsigned = BatchStatement(
        campaign=CAMPAIGN, key=SHUFFLER_SECRET.public_key().public_bytes_raw(), signature=bytes(64), **fields
    )
    return replace(unsigned, signature=SHUFFLER_SECRET.sign(unsigned.signed_message))


def shuffled_documents() -> dict[str, dict[str, Document]]:
    """Documents on the way through a shuffler, by type and name."""
    reports, joined = _sorted_page()
    page = ShuffledPage(campaign=CAMPAIGN, round=0, page=0, count=5, sealed=joined)
    released = {"round": 0, "received": 2, "blanket": 3, "reports": 5, "ended": BatchEnd.TIME}
    nothing = {"blanket": 0, "reports": 0, "root": Digest.of(b"")}
    limits = {"round": 2**53 - 1, "received": 2**53 - 1 - 16_000_000, "blanket": 16_000_000, "reports": 2**53 - 1}
    return {
        "sealed_reports": {"one": SealedReports(reports[0], 1), "five": SealedReports(joined, 5)},
        "sealed_outcomes": {
            "accepted": SealedOutcomes(1, 0),
            "both": SealedOutcomes(4095, 1),
            "replayed": SealedOutcomes(0, 4096),
        },
        "shuffled_page": {
            "five": page,
            "at_limits": replace(page, round=2**53 - 1, page=2**32 - 1, count=1, sealed=reports[0]),
        },
        "batch_statement": {
            "time": statement(root=root_of([sealed_id(each) for each in reports]), **released),
            "missed": statement(round=1, received=990, ended=BatchEnd.MISSED, **nothing),
            "abandoned": statement(round=1, received=0, ended=BatchEnd.ABANDONED, **nothing),
            "at_limits": statement(root=Digest(b"\xff" * 32), ended=BatchEnd.TIME, **limits),
        },
    }


def changes_of_sealed() -> list[tuple[str, str, tuple[str | int, ...], list[Any], str]]:
    """(document, example, place, wrong values, why) of the fields of sealed documents."""
    reports, joined = _sorted_page()
    turned = b"".join(reversed(reports))
    twice = b"".join([reports[0], reports[0], *reports[2:]])
    one, page, said = ("sealed_reports", "one"), ("shuffled_page", "five"), ("batch_statement", "time")
    widths = [b"", reports[0][:48], bytes(48)]
    return [
        (*one, ("sealed",), widths, "one width of more than 48 bytes"),
        (*one, ("count",), [0, 4097, 2, 1.0], "1 to 4096, of one width"),
        ("sealed_reports", "five", ("count",), [2, 3, 4, 6, 7], "a width that all reports have"),
        ("sealed_outcomes", "accepted", ("accepted",), [-1, 0, 4097], "1 to 4096 in all"),
        ("sealed_outcomes", "accepted", ("replayed",), [-1, 4096, 4097], "1 to 4096 in all"),
        (*page, ("round",), [-1, 2**53], "0 to 2^53 - 1"),
        (*page, ("page",), [-1, 2**32], "0 to 2^32 - 1"),
        (*page, ("count",), [0, 4, 4097], "1 to 4096, of one width"),
        (*page, ("sealed",), [turned, twice, joined[:-1], b""], "strictly ascending ids"),
        (*said, ("round",), [-1, 2**53], "0 to 2^53 - 1"),
        (*said, ("received",), [-1, 1, 3, 2**53], "reports are received and blanket"),
        (*said, ("blanket",), [-1, 0, 2, 16_000_001], "reports are received and blanket"),
        (*said, ("reports",), [-1, 4, 6, 2**53], "reports are received and blanket"),
        (*said, ("root",), [bytes(31)], "32 bytes"),
        (*said, ("ended",), ["count", "missed", ""], "time, missed or abandoned; a missed round has no reports"),
        (*said, ("key",), [bytes(31), bytes(33)], "32 bytes"),
        (*said, ("signature",), [bytes(63), bytes(65), None], "64 bytes"),
        ("batch_statement", "missed", ("received",), [-10, 991, 5], "tens"),
        ("batch_statement", "missed", ("blanket",), [1], "nothing is released"),
        ("batch_statement", "missed", ("reports",), [10], "nothing is released"),
        ("batch_statement", "missed", ("root",), [bytes(32)], "the root of no ids"),
        ("batch_statement", "missed", ("ended",), ["time"], "a round that ended by its time has a blanket"),
    ]
