"""Ed25519 signatures at the edges where implementations differ, and what the one rule of protocol v1 says of each.

The arithmetic of the curve is written out here (RFC 8032, section 5.1), since no library makes such signatures. T is a
point of order 8.
"""

from __future__ import annotations

import hashlib
from typing import Any

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
_I = pow(2, (P - 1) // 4, P)
Point = tuple[int, int]
NEUTRAL: Point = (0, 1)


def added(one: Point, two: Point) -> Point:
    (x, y), (u, v) = one, two
    product = D * x * u * y * v % P
    return (x * v + u * y) * pow(1 + product, -1, P) % P, (y * v + x * u) * pow(1 - product, -1, P) % P


def times(scalar: int, point: Point) -> Point:
    found = NEUTRAL
    while scalar:
        if scalar & 1:
            found = added(found, point)
        point, scalar = added(point, point), scalar >> 1
    return found


def decoded(content: bytes) -> Point | None:
    """The point of an encoding, canonical or not; None where there is none."""
    whole = int.from_bytes(content, "little")
    y, sign = (whole & (2**255 - 1)) % P, whole >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * _I % P
    if x * x % P != square:
        return None
    return (P - x if x & 1 != sign else x) % P, y


def encoded(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def challenge(first: bytes, key: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(first + key + message).digest(), "little") % L


def holds(key: bytes, signature: bytes, message: bytes) -> bool:
    """The rule: S < L, canonical A and R, neither of small order, S·B = R + k·A without a factor of 8."""
    first, s = signature[:32], int.from_bytes(signature[32:], "little")
    a, r = decoded(key), decoded(first)
    if s >= L or a is None or r is None or encoded(a) != key or encoded(r) != first:
        return False
    if NEUTRAL in (times(8, a), times(8, r)):
        return False
    return times(s, BASE) == added(r, times(challenge(first, key, message), a))


def holds_cofactored(key: bytes, signature: bytes, message: bytes) -> bool:
    """8·S·B = 8·R + 8·k·A: what libraries that verify batches accept."""
    first, s = signature[:32], int.from_bytes(signature[32:], "little")
    a, r = decoded(key), decoded(first)
    if a is None or r is None:
        return False
    return times(8 * s, BASE) == times(8, added(r, times(challenge(first, key, message), a)))


_FOUND = decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
assert _FOUND is not None
BASE: Point = _FOUND


def _torsion() -> Point:
    """A point of order 8: L times any point that is not of the prime order."""
    for y in range(2, 100):
        point = decoded(y.to_bytes(32, "little"))
        if point is not None and times(4, found := times(L, point)) != NEUTRAL:
            return found
    raise AssertionError


def _message(first: bytes, key: bytes, residue: int) -> bytes:
    """A message whose challenge has this residue modulo 8."""
    messages = (b"message %d" % number for number in range(1000))
    return next(each for each in messages if challenge(first, key, each) % 8 == residue)


def _signed(a: int, key: bytes, r: int, first: bytes, message: bytes) -> bytes:
    return first + ((r + challenge(first, key, message) * a) % L).to_bytes(32, "little")


def signature_rule() -> list[dict[str, Any]]:
    """Each case: key, message, signature, whether the rule holds, and whether the cofactored equation does."""
    torsion, a, r = _torsion(), 2**200 + 12345, 2**199 + 54321
    key, first = encoded(times(a, BASE)), encoded(times(r, BASE))
    mixed_key, mixed_first = (encoded(added(times(each, BASE), torsion)) for each in (a, r))
    neutral, text = encoded(NEUTRAL), b"message"
    good = _signed(a, key, r, first, text)
    more = (int.from_bytes(good[32:], "little") + L).to_bytes(32, "little")
    odd = next(y.to_bytes(32, "little") for y in range(2, 100) if decoded(y.to_bytes(32, "little")) is None)
    small, beyond, signed_zero = encoded(torsion), (P + 1).to_bytes(32, "little"), (1 | 1 << 255).to_bytes(32, "little")
    cases: list[tuple[str, bytes, bytes, bytes]] = [
        ("good", key, text, good),
        ("another_message", key, b"other", good),
        ("s_plus_l", key, text, good[:32] + more),
        ("s_all_ones", key, text, good[:32] + b"\xff" * 32),
        ("key_on_no_point", odd, text, good),
        ("r_on_no_point", key, text, odd + good[32:]),
        ("cofactored_only", key, text, _signed(a, key, r, mixed_first, text)),
        ("cofactored_only_by_key", mixed_key, m := _message(first, mixed_key, 3), _signed(a, mixed_key, r, first, m)),
        ("mixed_key_that_holds", mixed_key, m := _message(first, mixed_key, 0), _signed(a, mixed_key, r, first, m)),
        (
            "mixed_key_and_r_that_hold",
            mixed_key,
            m := _message(mixed_first, mixed_key, 7),
            _signed(a, mixed_key, r, mixed_first, m),
        ),
        ("key_of_order_8", small, m := _message(first, small, 0), _signed(0, small, r, first, m)),
        ("key_of_order_1", neutral, text, _signed(0, neutral, r, first, text)),
        ("r_of_order_1", key, text, _signed(a, key, 0, neutral, text)),
        ("r_of_order_8", key, text, _signed(a, key, 0, small, text)),
        ("both_of_order_1", neutral, text, neutral + bytes(32)),
        ("key_not_canonical", beyond, text, _signed(0, beyond, r, first, text)),
        ("r_not_canonical", key, text, _signed(a, key, 0, beyond, text)),
        ("key_of_signed_zero", signed_zero, text, _signed(0, signed_zero, r, first, text)),
        ("r_of_signed_zero", key, text, _signed(a, key, 0, signed_zero, text)),
    ]
    return [
        {
            "name": name,
            "key": key.hex(),
            "message": message.hex(),
            "signature": signature.hex(),
            "holds": holds(key, signature, message),
            "holds_cofactored": holds_cofactored(key, signature, message),
        }
        for name, key, message, signature in cases
    ]
