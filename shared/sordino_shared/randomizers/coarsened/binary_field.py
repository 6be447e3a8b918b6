"""The fields GF(2^r), r from 1 to 64: polynomials over F₂, bit i being the coefficient of x^i, modulo a fixed one."""

from __future__ import annotations

MAX_DEGREE = 64
# The polynomial of GF(2^r) is x^r plus the one written here at place r − 1: of all irreducible ones of degree r it is
# the least as an integer.
# fmt: off
LOW_PARTS = (
    1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43,
    9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141,
    75, 27, 5, 53, 63, 99, 17, 57, 9, 39, 89, 33, 27, 3, 33, 45,
    113, 29, 75, 9, 71, 125, 71, 149, 17, 99, 123, 3, 39, 105, 3, 27,
)
# fmt: on


def low_part(degree: int) -> int:
    """The polynomial of GF(2^degree) without its highest term."""
    return LOW_PARTS[degree - 1] & ((1 << degree) - 1)


def times_x(element: int, degree: int) -> int:
    """x·a of an element a."""
    shifted = element << 1 & ((1 << degree) - 1)
    return shifted ^ (element >> (degree - 1) & 1) * low_part(degree)


def multiply(first: int, second: int, degree: int) -> int:
    """The product a·b, in `degree` steps whatever the elements are: one of them is a device's value."""
    product, power = 0, first
    for place in range(degree):
        product ^= power * (second >> place & 1)
        power = times_x(power, degree)
    return product
