"""Arrays on the wire: element type, shape and little-endian bytes, checked before numpy sees them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

# The bytes of the largest document.
MAX_ENTRIES = 1 << 30
_ELEMENT_TYPES = frozenset({"|u1", "<i4", "<i8", "<u8", "<f8"})


@dataclass(frozen=True)
class Array:
    """An immutable array: `element` is a numpy type string, `data` its C-ordered little-endian bytes."""

    element: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.element not in _ELEMENT_TYPES:
            raise InvalidValue(f"array element type must be one of {sorted(_ELEMENT_TYPES)}, got {self.element!r}")
        check_range(len(self.shape), 1, 2, "number of dimensions of an array")
        for size in self.shape:
            check_range(size, 1, MAX_ENTRIES, "size of an array")
        expected = math.prod(self.shape) * np.dtype(self.element).itemsize
        if len(self.data) != expected:
            raise InvalidValue(f"array of shape {self.shape} needs {expected} bytes, got {len(self.data)}", self.shape)
        if self.element == "<f8" and not np.isfinite(self.numpy()).all():
            raise InvalidValue("array holds a number that is not finite")

    @classmethod
    def of(cls, values: NDArray[Any], element: str) -> Array:
        """Pack `values`; an integer `element` must hold every one of them exactly."""
        with np.errstate(invalid="ignore"):
            packed = np.ascontiguousarray(values, dtype=element)
        if packed.dtype.kind != "f" and not np.array_equal(packed, values):
            raise InvalidValue(f"array has numbers that {element} does not hold", values)
        return cls(element, packed.shape, packed.tobytes())

    def numpy(self) -> NDArray[Any]:
        """A read-only view."""
        return np.frombuffer(self.data, dtype=self.element).reshape(self.shape)

    def check_form(self, element: str, shape: tuple[int, ...], what: str) -> None:
        """Raise unless the array has this element type and shape."""
        if (self.element, self.shape) != (element, shape):
            raise InvalidValue(f"{what} must be {element}{list(shape)}, got {self.element}{list(self.shape)}", self)
