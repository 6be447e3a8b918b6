"""Ed25519 signatures (RFC 8032) verified in plain Python, by one rule on every device and server.

Implementations differ in what they accept of signatures that an honest signer never makes (Chalkias, Garillot and
Nikolaenko 2020). The rule of protocol v1: S < L; A and R are the canonical encodings of points; neither is of small
order; and S·B = R + k·A, without a factor of 8. Nothing here is secret, so nothing here takes constant time.
"""

from __future__ import annotations

import hashlib

KEY_BYTES = 32
SIGNATURE_BYTES = 64
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
# Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x·y = T/Z.
_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def verify(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` (64 bytes) is one of `message` by the public key (32 bytes)."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    first, s = signature[:32], int.from_bytes(signature[32:], "little")
    a, r = _decoded(key), _decoded(first)
    if s >= _L or a is None or r is None or _has_small_order(a) or _has_small_order(r):
        return False
    k = int.from_bytes(hashlib.sha512(first + key + message).digest(), "little") % _L
    # S·B − k·A = R, both multiples in one pass.
    return _same(_sum_of_multiples(s, _BASE, k, _negative(a)), r)


def is_point(key: bytes) -> bool:
    """Whether these bytes are a public key by which `verify` may hold: a canonical point, not of small order."""
    found = _decoded(key) if len(key) == KEY_BYTES else None
    return found is not None and not _has_small_order(found)


def _decoded(encoded: bytes) -> _Point | None:
    """The point of a canonical encoding; None for any other bytes."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    if y >= _P:
        return None
    x = _x_of(y)
    if x is None or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _x_of(y: int) -> int | None:
    """A root x of (y² − 1)/(d·y² + 1); None where there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    root = pow(square, (_P + 3) // 8, _P)
    if (root * root - square) % _P:
        root = root * _ROOT_OF_MINUS_ONE % _P
    return None if (root * root - square) % _P else root


def _add(first: _Point, second: _Point) -> _Point:
    """The sum of two points: complete formulas, for all pairs (Hisil, Wong, Carter and Dawson 2008)."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _negative(point: _Point) -> _Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


def _sum_of_multiples(m: int, first: _Point, n: int, second: _Point) -> _Point:
    """m·first + n·second, a doubling for each bit of the longer one (Straus 1964)."""
    table = (_NEUTRAL, first, second, _add(first, second))
    total = _NEUTRAL
    for bit in reversed(range(max(m.bit_length(), n.bit_length()))):
        total = _add(total, total)
        if chosen := (m >> bit & 1) | (n >> bit & 1) << 1:
            total = _add(total, table[chosen])
    return total


def _has_small_order(point: _Point) -> bool:
    for _ in range(3):
        point = _add(point, point)
    return _same(point, _NEUTRAL)


def _same(first: _Point, second: _Point) -> bool:
    return (first[0] * second[2] - second[0] * first[2]) % _P == 0 == (first[1] * second[2] - second[1] * first[2]) % _P


_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE = _decoded(_BASE_Y.to_bytes(32, "little")) or _NEUTRAL
