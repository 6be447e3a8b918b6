"""Ed25519 signatures (RFC 8032) verified in plain Python, by one rule on every device and server.

Implementations differ in what they accept of signatures that an honest signer never makes (Chalkias, Garillot and
Nikolaenko 2020). The rule of protocol v1: S < L; A and R are the canonical encodings of points; neither is of small
order; and S·B = R + k·A, without a factor of 8. Nothing here is secret, so nothing here takes constant time.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache

KEY_BYTES = 32
SIGNATURE_BYTES = 64
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_LOW = 2**255 - 1
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
# Digits of scalars are odd and below 2^(width − 1): wider ones are fewer, and need more points prepared. A device that
# joins checks two signatures; a width of 6 for the base took as long (`python -m benchmarks.public_log`).
_WIDTH = 5
# The keys that an app pins, with those of a shuffler's tasks.
_KEYS_KEPT = 32
# Projective coordinates (X, Y, Z): x = X/Z, y = Y/Z.
_Point = tuple[int, int, int]
# A point that is added often: Y + X, Y − X, 2Z and 2d·XY/Z.
_Summand = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1)


def verify(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` (64 bytes) is one of `message` by the public key (32 bytes)."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    first, s, multiples = signature[:32], int.from_bytes(signature[32:], "little"), _negative_multiples(key)
    if s >= _L or multiples is None:
        return False
    k = int.from_bytes(hashlib.sha512(first + key + message).digest(), "little") % _L
    found = _sum(_digits(s, _base_multiples()), _digits(k, multiples))
    # The encoding of a point is canonical, so R is compared without being decoded.
    return _encoded(found) == first and not _has_small_order(found)


def is_point(key: bytes) -> bool:
    """Whether these bytes are a public key by which `verify` may hold: a canonical point, not of small order."""
    found = _decoded(key) if len(key) == KEY_BYTES else None
    return found is not None and not _has_small_order(found)


def times_base(scalar: int) -> bytes:
    """The encoding of a multiple of the base point, in a time that tells the scalar: for keys that protect nothing."""
    return _encoded(_sum(_digits(scalar % _L, _base_multiples()), {}))


@lru_cache(_KEYS_KEPT)
def _negative_multiples(key: bytes) -> tuple[_Summand, ...] | None:
    """−A, −3A, −5A … of a public key A; None for one by which nothing holds."""
    a = _decoded(key)
    if a is None or _has_small_order(a):
        return None
    x, y, z = a
    return _odd_multiples((_P - x, y, z))


@cache
def _base_multiples() -> tuple[_Summand, ...]:
    base = _decoded(_BASE)
    assert base is not None
    return _odd_multiples(base)


def _decoded(encoded: bytes) -> _Point | None:
    """The point of a canonical encoding; None for any other bytes."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & _LOW, number >> 255
    if y >= _P:
        return None
    x = _x_of(y)
    if x is None or (x == 0 and sign):
        return None
    return (_P - x if x & 1 != sign else x), y, 1


def _x_of(y: int) -> int | None:
    """A root x of (y² − 1)/(d·y² + 1), None where there is none; with one power (RFC 8032, section 5.1.3)."""
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    cube = v * v * v % _P
    root = u * cube * pow(u * cube * cube * v, (_P - 5) // 8, _P) % _P
    square = v * root * root % _P
    if square == _P - u and u:
        return root * _ROOT_OF_MINUS_ONE % _P
    return root if square == u else None


def _encoded(point: _Point) -> bytes:
    x, y, z = point
    inverse = pow(z, -1, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(32, "little")


def _odd_multiples(point: _Point) -> tuple[_Summand, ...]:
    """1, 3, 5 … times a point, as many as there are positive digits."""
    found = [point]
    double = _summand(_sum({1: _summand(point)}, {}))
    while len(found) < 1 << _WIDTH - 2:
        found.append(_sum({0: double}, {0: _summand(found[-1])}))
    return tuple(map(_summand, found))


def _summand(point: _Point) -> _Summand:
    x, y, z = point
    # All four times Z, so that nothing is divided by it.
    return (y + x) * z % _P, (y - x) * z % _P, 2 * z * z % _P, 2 * _D * x * y % _P


def _digits(number: int, multiples: tuple[_Summand, ...]) -> dict[int, _Summand]:
    """By place, what is added there: signed odd digits with _WIDTH − 1 zeros at least between two (Solinas 2000)."""
    found, place = {}, 0
    while number:
        zeros = (number & -number).bit_length() - 1
        number, place = number >> zeros, place + zeros
        digit = number & ((1 << _WIDTH) - 1)
        if digit >> _WIDTH - 1:
            plus, minus, double, product = multiples[(1 << _WIDTH) - digit >> 1]
            found[place] = minus, plus, double, -product
            number += (1 << _WIDTH) - digit
        else:
            found[place] = multiples[digit >> 1]
            number -= digit
    return found


def _sum(first: dict[int, _Summand], second: dict[int, _Summand]) -> _Point:
    """The sum of the summands of both, each times 2^place: one doubling a place (Straus 1964).

    Complete formulas, for all points (Hisil, Wong, Carter and Dawson 2008).
    """
    (x, y, z), p, low = _NEUTRAL, _P, _LOW
    for place in range(max((*first, *second), default=0), -1, -1):
        # n & low + 19·(n >> 255) is n mod p up to a few bits, and takes a third of the time of n % p.
        xx, yy, xy, zz = x * x, y * y, 2 * x * y, 2 * z * z
        xx, yy = (xx & low) + 19 * (xx >> 255), (yy & low) + 19 * (yy >> 255)
        e, f, g, h = (xy & low) + 19 * (xy >> 255), yy - xx - zz, yy - xx, -xx - yy
        f = (f & low) + 19 * (f >> 255)
        for summands in (first, second):
            if place in summands:
                plus, minus, double, product = summands[place]
                x, y, t, z = e * f % p, g * h % p, e * h % p, f * g % p
                a, b, c, d = (y - x) * minus % p, (y + x) * plus % p, t * product % p, z * double % p
                e, f, g, h = b - a, d - c, d + c, b + a
        # x = e/g and y = h/f; a product e·h is made where something is added.
        x, y, z = e * f % p, g * h % p, f * g % p
    return x, y, z


def _has_small_order(point: _Point) -> bool:
    """Whether eight times the point is the neutral one."""
    x, y, z = _sum({3: _summand(point)}, {})
    return x == 0 and y == z


_BASE = (4 * pow(5, -1, _P) % _P).to_bytes(32, "little")
