"""Arrays on the wire: element type, shape and little-endian bytes. Analysts read them with numpy, devices do not."""

from __future__ import annotations

import math
import sys
from array import array
from typing import Any

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

# The bytes of the largest document.
MAX_ENTRIES = 1 << 30
# The letter under which Python reads each element, and its bytes.
_ELEMENTS = {"|u1": ("B", 1), "<i4": ("i", 4), "<i8": ("q", 8), "<u8": ("Q", 8), "<f8": ("d", 8)}


@dataclass(frozen=True)
class Array:
    """An immutable array: `element` is a numpy type string, `data` its C-ordered little-endian bytes."""

    element: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.element not in _ELEMENTS:
            raise InvalidValue(f"array element type must be one of {sorted(_ELEMENTS)}, got {self.element!r}")
        check_range(len(self.shape), 1, 2, "number of dimensions of an array")
        for size in self.shape:
            check_range(size, 1, MAX_ENTRIES, "size of an array")
        expected = math.prod(self.shape) * _ELEMENTS[self.element][1]
        if len(self.data) != expected:
            raise InvalidValue(f"array of shape {self.shape} needs {expected} bytes, got {len(self.data)}", self.shape)
        if self.element == "<f8" and not all(map(math.isfinite, self.numbers())):
            raise InvalidValue("array holds a number that is not finite")

    def numbers(self) -> memoryview:
        """The numbers, flat: a view of the bytes where the machine keeps numbers as the wire does."""
        return native(self.data, _ELEMENTS[self.element][0])

    def check_form(self, element: str, shape: tuple[int, ...], what: str) -> None:
        """Raise unless the array has this element type and shape."""
        if (self.element, self.shape) != (element, shape):
            raise InvalidValue(f"{what} must be {element}{list(shape)}, got {self.element}{list(self.shape)}", self)


def native(data: bytes, letter: Any) -> memoryview:
    """Little-endian numbers, `letter` being their format in the module `array`; a machine of the other order swaps."""
    if sys.byteorder == "little":
        view: memoryview = memoryview(data).cast(letter)
        return view
    swapped: array[Any] = array(letter, data)
    swapped.byteswap()
    return memoryview(swapped)
