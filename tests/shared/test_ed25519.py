"""One rule for signatures: what `cryptography` signs holds, and no signature that only some implementations accept."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_shared import ed25519
from sordino_shared.ed25519 import verify
from tests.vectors.signature_rule import NEUTRAL, added, challenge, decoded, encoded, times

P, L = ed25519._P, ed25519._L


def signed(number: int, message: bytes) -> tuple[bytes, bytes]:
    key = Ed25519PrivateKey.from_private_bytes(number.to_bytes(32, "big"))
    return key.public_key().public_bytes_raw(), key.sign(message)


@pytest.mark.parametrize(
    ("key", "message", "signature"),
    [
        # RFC 8032, section 7.1, tests 1 to 3.
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe"
            "24655141438e7a100b",
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302a"
            "eeb00d291612bb0c00",
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed2"
            "8dc027beceea1ec40a",
        ),
    ],
)
def test_the_signatures_of_the_standard_hold(key: str, message: str, signature: str) -> None:
    assert verify(bytes.fromhex(key), bytes.fromhex(signature), bytes.fromhex(message))


def test_signatures_hold_for_their_message_and_key_alone() -> None:
    for number in range(1, 9):
        message = bytes([number]) * (9 * number)
        key, signature = signed(number, message)
        assert verify(key, signature, message)
        assert not verify(key, signature, message + b"x")
        assert not verify(signed(number + 1, message)[0], signature, message)
        for bit in (0, 7, 250, 255, 256, 400, 511):
            flipped = (int.from_bytes(signature, "little") ^ 1 << bit).to_bytes(64, "little")
            assert not verify(key, flipped, message)


def test_other_lengths_hold_for_nothing() -> None:
    key, signature = signed(1, b"m")
    for wrong in (b"", key[:31], key + b"\0"):
        assert not verify(wrong, signature, b"m")
    for wrong in (b"", signature[:63], signature + b"\0"):
        assert not verify(key, wrong, b"m")


def test_s_is_below_the_order_of_the_group() -> None:
    """S + L gives the same equation: two signatures of one message, where a signature is taken for an identity."""
    key, signature = signed(3, b"m")
    larger = int.from_bytes(signature[32:], "little") + L
    assert not verify(key, signature[:32] + larger.to_bytes(32, "little"), b"m")


def small_order() -> list[bytes]:
    """Canonical encodings of the points of orders 1, 2, 4 and 8."""
    found = {encoded(NEUTRAL)}
    for y in range(2, 200):
        if (point := decoded(y.to_bytes(32, "little"))) is not None:
            # L times any point is one of the eight.
            found.add(encoded(times(L, point)))
    return sorted(found)


def test_points_of_small_order_are_refused_wherever_they_stand() -> None:
    """With A of small order and k a multiple of its order, S = 0 and R neutral solve the equation for any message."""
    points = small_order()
    assert len(points) == 8
    for key in points:
        for first in points:
            for number in range(3):
                assert not verify(key, first + bytes(32), bytes([number]))


def test_points_have_one_encoding() -> None:
    """y + p names the same point as y, and −0 the same as 0."""
    key, signature = signed(4, b"m")
    for y in range(19):
        assert ed25519._decoded((y + P).to_bytes(32, "little")) is None
    assert ed25519._decoded((1 | 1 << 255).to_bytes(32, "little")) is None
    assert not verify((1 | 1 << 255).to_bytes(32, "little"), signature, b"m")
    assert verify(key, signature, b"m")


def test_the_equation_has_no_factor_of_eight() -> None:
    """R + T with T of order 8 passes where both sides are multiplied by 8, and does not hold here."""
    torsion = next(point for point in small_order() if point != encoded(NEUTRAL))
    secret, nonce, message = 12345, 6789, b"m"
    base, extra = decoded(ed25519._BASE), decoded(torsion)
    assert base is not None
    assert extra is not None
    key, plain = encoded(times(secret, base)), times(nonce, base)
    for first, holds in ((encoded(added(plain, extra)), False), (encoded(plain), True)):
        s = (nonce + challenge(first, key, message) * secret) % L
        assert verify(key, first + s.to_bytes(32, "little"), message) == holds


@pytest.mark.parametrize("scalar", [0, 1, 2, 31, 32, L - 1, 2**252 - 1, 2**252, int("10" * 126, 2)])
def test_sums_of_multiples_are_those_of_plain_arithmetic(scalar: int) -> None:
    """S·B − k·A, at the ends of S and where digits carry."""
    base, secret = decoded(ed25519._BASE), 2**251 + 9
    assert base is not None
    a = times(secret, base)
    digits, multiples = ed25519._digits, ed25519._negative_multiples(encoded(a))
    assert multiples is not None
    for k in (0, 1, 2**251 + 12345, L - 2):
        ours = digits(scalar, ed25519._base_multiples())
        x, y, z = ed25519._sum(ours, digits(k, multiples))
        assert encoded((x * pow(z, -1, P) % P, y * pow(z, -1, P) % P)) == encoded(
            times((scalar - k * secret) % L, base)
        )
