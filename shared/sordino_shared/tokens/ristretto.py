"""The group ristretto255 (RFC 9496) in plain Python: prime order, one encoding for each element, a map from hashes.

Integers of Python take no constant time. A device uses a blind once, for an element that it has just drawn, so that
there is nothing to average over. A server answers many requests by one key: see docs/decisions/0025.
"""

from __future__ import annotations

from collections.abc import Sequence

ELEMENT_BYTES = 32
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
# Section 4.1 of RFC 9496: d of the curve, the root of −1, and what encoding and map take from them.
_D = -121665 * pow(121666, -1, P) % P
_SQRT_M1 = pow(2, (P - 1) // 4, P)
_SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
_INVSQRT_A_MINUS_D = 54469307008909316920995813868745141605393597292927456921205312896311721017578
_ONE_MINUS_D_SQ = (1 - _D * _D) % P
_D_MINUS_ONE_SQ = (_D - 1) ** 2 % P
_LOW_255 = (1 << 255) - 1

# Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x·y = T/Z. One element has several of them.
Point = tuple[int, int, int, int]
IDENTITY: Point = (0, 1, 1, 0)
# A multiple is added up from the digits of its scalar, of so many bits each: 4 takes 14 additions for the table of an
# element and 64 for the digits; 3 and 5 take more together.
_WINDOW = 4
_DIGITS = range(252 // _WINDOW * _WINDOW, -1, -_WINDOW)


def decoded(encoded: bytes) -> Point | None:
    """The element that 32 bytes encode; None for any other bytes (RFC 9496, section 4.3.1)."""
    s = int.from_bytes(encoded, "little")
    if len(encoded) != ELEMENT_BYTES or s >= P or s & 1:
        return None
    square = s * s % P
    u1, u2 = 1 - square, 1 + square
    u2_square = u2 * u2 % P
    v = (-_D * u1 * u1 - u2_square) % P
    was_square, root = _sqrt_ratio(1, v * u2_square % P)
    x = _magnitude(2 * s * root * u2 % P)
    y = u1 * root * root % P * u2 * v % P
    t = x * y % P
    return None if not was_square or t & 1 or y == 0 else (x, y, 1, t)


def encoded(point: Point) -> bytes:
    """The 32 bytes of an element, whichever of its coordinates these are (RFC 9496, section 4.3.2)."""
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    _, root = _sqrt_ratio(1, u1 * u2 % P * u2 % P)
    den1, den2 = root * u1 % P, root * u2 % P
    z_inverse = den1 * den2 % P * t % P
    if t * z_inverse % P & 1:
        x, y, den2 = y * _SQRT_M1 % P, x * _SQRT_M1 % P, den1 * _INVSQRT_A_MINUS_D % P
    if x * z_inverse % P & 1:
        y = -y
    return _magnitude(den2 * (z - y) % P).to_bytes(ELEMENT_BYTES, "little")


def from_uniform(uniform: bytes) -> Point:
    """The element of 64 uniform bytes: the sum of two maps (RFC 9496, section 4.3.4)."""
    first, second = (int.from_bytes(half, "little") & _LOW_255 for half in (uniform[:32], uniform[32:]))
    return add(_mapped(first), _mapped(second))


def same(first: Point, second: Point) -> bool:
    """Whether both are one element (RFC 9496, section 4.3.3)."""
    x1, y1, _, _ = first
    x2, y2, _, _ = second
    return (x1 * y2 - y1 * x2) % P == 0 or (y1 * y2 - x1 * x2) % P == 0


def add(first: Point, second: Point) -> Point:
    """The sum: complete formulas, for all pairs (Hisil, Wong, Carter and Dawson 2008)."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a, b = (y1 - x1) * (y2 - x2), (y1 + x1) * (y2 + x2)
    c, d = 2 * t1 * t2 % P * _D, 2 * z1 * z2
    e, f, g, h = (b - a) % P, (d - c) % P, (d + c) % P, (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiple(scalar: int, point: Point) -> Point:
    """scalar·point."""
    return sum_of_multiples([(scalar, point)])


def sum_of_multiples(terms: Sequence[tuple[int, Point]]) -> Point:
    """Σ scalar·point, four doublings for a digit of all scalars together (Straus 1964); the identity for none."""
    prepared = [(scalar % ORDER, _table(point)) for scalar, point in terms]
    total = IDENTITY
    for shift in _DIGITS:
        if total is not IDENTITY:
            total = _doubled(total, _WINDOW)
        for scalar, table in prepared:
            if digit := scalar >> shift & (1 << _WINDOW) - 1:
                total = add(total, table[digit])
    return total


def _table(point: Point) -> list[Point]:
    """0·point to 15·point."""
    table = [IDENTITY, point]
    while len(table) < 1 << _WINDOW:
        table.append(add(table[-1], point))
    return table


def _doubled(point: Point, times: int) -> Point:
    """2^times·point: the formulas of Hisil, Wong, Carter and Dawson (2008, section 3.3), T in the last round alone."""
    x, y, z, t = point
    for left in range(times - 1, -1, -1):
        a, b, c = x * x, y * y, 2 * z * z
        e, g, h = ((x + y) * (x + y) - a - b) % P, (b - a) % P, (-a - b) % P
        f = (g - c) % P
        x, y, z = e * f % P, g * h % P, f * g % P
        if left == 0:
            t = e * h % P
    return x, y, z, t


def _mapped(t: int) -> Point:
    """The map of a field element: Elligator 2 on the Jacobi quartic (RFC 9496, section 4.3.4)."""
    r = _SQRT_M1 * t % P * t % P
    u = (r + 1) * _ONE_MINUS_D_SQ % P
    v = (-1 - r * _D) * (r + _D) % P
    was_square, s = _sqrt_ratio(u, v)
    c = -1 if was_square else r
    if not was_square:
        s = -_magnitude(s * t % P) % P
    n = (c * (r - 1) * _D_MINUS_ONE_SQ - v) % P
    w0, w1, w2, w3 = 2 * s * v % P, n * _SQRT_AD_MINUS_ONE % P, (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def _sqrt_ratio(u: int, v: int) -> tuple[bool, int]:
    """(whether u/v is a square, the even root of u/v or else of √−1·u/v): RFC 9496, section 4.2."""
    v3 = v * v % P * v % P
    r = u * v3 % P * pow(u * v3 % P * v3 % P * v % P, (P - 5) // 8, P) % P
    check = v * r % P * r % P
    u %= P
    flipped = check == P - u if u else False
    if flipped or check == -u * _SQRT_M1 % P:
        r = r * _SQRT_M1 % P
    return check == u or flipped, _magnitude(r)


def _magnitude(value: int) -> int:
    """The even one of value and −value."""
    return P - value if value & 1 else value


BASE: Point = decoded(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")) or IDENTITY
