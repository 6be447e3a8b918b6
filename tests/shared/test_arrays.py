"""Arrays say what they hold, and hold it exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue


@pytest.mark.parametrize("element", ["|u1", "<i4", "<i8", "<u8", "<f8"])
def test_numbers_come_back_little_endian_and_read_only(element: str) -> None:
    array = array_of(np.array([[1, 2, 3], [4, 5, 6]])[:, ::2], element)
    assert array.shape == (2, 2)
    assert ndarray(array).tolist() == [[1, 3], [4, 6]]
    assert array.data[: len(array.data) // 4] == np.array(1, dtype=element).tobytes()
    with pytest.raises(ValueError, match="read-only"):
        ndarray(array)[0, 0] = 1


@pytest.mark.parametrize(
    ("values", "element"),
    [
        ([-1], "<u8"),
        ([256], "|u1"),
        ([2**31], "<i4"),
        ([0.5], "<i8"),
        ([float("nan")], "<i4"),
        ([float("inf")], "<u8"),
        ([2.0**64], "<u8"),
        ([float("nan")], "<f8"),
        ([1e308, float("inf")], "<f8"),
    ],
)
def test_packing_never_changes_a_number(values: list[Any], element: str) -> None:
    with pytest.raises(InvalidValue):
        array_of(np.array(values), element)


@pytest.mark.parametrize(
    ("element", "shape", "size"),
    [
        ("<u4", (1,), 4),
        (">i4", (1,), 4),
        ("object", (1,), 8),
        ("<u8", (), 8),
        ("<u8", (1, 1, 1), 8),
        ("<u8", (0,), 0),
        ("<u8", (2, 0), 0),
        ("<u8", (-1, -1), 8),
        ("<u8", (2,), 8),
        ("<u8", (2**62, 2), 0),
    ],
)
def test_form_and_bytes_must_fit(element: str, shape: tuple[int, ...], size: int) -> None:
    with pytest.raises(InvalidValue):
        Array(element, shape, bytes(size))


def test_check_form_names_what_is_wrong() -> None:
    with pytest.raises(InvalidValue, match=r"levels must be <u8\[3\], got <i8\[2\]"):
        array_of(np.array([1, 2]), "<i8").check_form("<u8", (3,), "levels")
