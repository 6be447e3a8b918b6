"""Payloads as rows of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import ReportBatch

Payloads = NDArray[np.uint8]


def payload_rows(batch: ReportBatch) -> Payloads:
    """(n, width) a read-only view of the payloads of a batch."""
    return np.frombuffer(batch.payloads, dtype=np.uint8).reshape(batch.count, batch.width)


def check_payloads(payloads: Payloads, width: int) -> None:
    """Raise `InvalidValue` unless the payloads are (n, width) bytes."""
    if payloads.ndim != 2 or payloads.shape[1] != width or payloads.dtype != np.uint8:
        raise InvalidValue(f"payloads must be an (n, {width}) array of bytes", payloads.shape)


def check_cells(cells: NDArray[np.int64], size: int) -> None:
    """Raise `InvalidValue` unless the cells are (n,) 64-bit integers below `size`."""
    whole = cells.ndim == 1 and cells.dtype == np.int64
    if not whole or (cells.size and (cells.min() < 0 or cells.max() >= size)):
        raise InvalidValue(f"cells must be a vector of 64-bit integers from 0 to {size - 1}", cells)


def check_codes(codes: NDArray[np.uint64], shape: tuple[int, ...]) -> None:
    """Raise `InvalidValue` unless the codes are (n, attributes) indices of members."""
    whole = codes.ndim == 2 and codes.dtype == np.uint64 and codes.shape[1] == len(shape)
    if not whole or (codes > np.array([size - 1 for size in shape], dtype=np.uint64)).any():
        raise InvalidValue(f"codes must be rows of unsigned 64-bit integers below the sizes {shape}", codes)


def pack_indices(indices: NDArray[Any], width: int) -> Payloads:
    """(n, width) little-endian bytes of (n,) output indices."""
    words = np.ascontiguousarray(indices, dtype="<u4").view(np.uint8).reshape(-1, 4)
    return np.ascontiguousarray(words[:, :width])


def unpack_indices(payloads: Payloads) -> NDArray[np.int64]:
    """(n,) output indices of (n, width) little-endian bytes."""
    words = np.zeros((len(payloads), 4), dtype=np.uint8)
    words[:, : payloads.shape[1]] = payloads
    return words.view("<u4").reshape(-1).astype(np.int64)
