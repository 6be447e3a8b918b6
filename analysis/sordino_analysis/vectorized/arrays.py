"""Arrays of the wire to arrays of numpy, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue

T = TypeVar("T")
V = TypeVar("V")


def array_of(values: NDArray[Any], element: str) -> Array:
    """Pack `values` (n,), or of more axes; raises `InvalidValue` unless an integer `element` holds each exactly."""
    with np.errstate(invalid="ignore"):
        packed = np.ascontiguousarray(values, dtype=element)
    if packed.dtype.kind != "f" and not np.array_equal(packed, values):
        raise InvalidValue(f"array has numbers that {element} does not hold", values)
    return Array(element, packed.shape, packed.tobytes())


def ndarray(array: Array) -> NDArray[Any]:
    """A read-only view (n,), or of more axes as the array says, with the element type of the wire."""
    return np.frombuffer(array.data, dtype=array.element).reshape(array.shape)


def unpack_bits(array: Array, count: int) -> NDArray[np.bool_]:
    """(…, count) the first bits of the bytes, in little-endian order."""
    bits: NDArray[np.uint8] = np.unpackbits(ndarray(array), axis=-1, bitorder="little")[..., :count]
    return np.asarray(bits == 1)


def pack_bits(bits: NDArray[np.bool_]) -> Array:
    """The bytes of (…, count) bits, in little-endian order."""
    return array_of(np.packbits(bits, axis=-1, bitorder="little"), "|u1")


def computed_once(compute: Callable[[V], T]) -> Callable[[V], T]:
    """What `compute` returns for a value, kept as long as the value lives."""
    found: WeakKeyDictionary[V, T] = WeakKeyDictionary()

    @wraps(compute)
    def once(value: V) -> T:
        if (result := found.get(value)) is None:
            result = found[value] = compute(value)
        return result

    return once
