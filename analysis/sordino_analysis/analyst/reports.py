"""Reports as notebooks hold them: arrays, lists or columns of bytes, checked against their plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.frames import is_series, values_of_series
from sordino_analysis.analyst.published_plans import PublishedPlan
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_shared.errors import InvalidValue

# (n, width) bytes, or n payloads: a list, or a column of a data frame.
Reports = NDArray[np.uint8] | Sequence[bytes] | Any


def checked_reports(plan: PublishedPlan, reports: Reports) -> NDArray[np.uint8]:
    """The (n, width) reports; raises InvalidValue where one cannot be of the plan."""
    randomizer = plan.device.randomizer
    payloads = _rows_of_bytes(reports)
    if payloads.ndim != 2 or payloads.shape[1] != randomizer.payload_bytes or payloads.dtype != np.uint8:
        raise InvalidValue(
            f"reports must be an (n, {randomizer.payload_bytes}) array of uint8, got {payloads.shape} of "
            f"{payloads.dtype}",
            payloads.shape,
        )
    outside = np.flatnonzero(~in_alphabet(randomizer, payloads))
    if len(outside):
        raise InvalidValue(
            f"{len(outside)} of {len(payloads)} reports are none of this plan, the first in row {outside[0]}: "
            "leave them out, or use the plan that they were made with",
            int(outside[0]),
        )
    return payloads


def _rows_of_bytes(reports: Reports) -> NDArray[Any]:
    """(n, width) of n payloads of one length; anything else as an array that is refused."""
    listed: Any = values_of_series(reports) if is_series(reports) else reports
    if isinstance(listed, list) and listed and all(isinstance(one, bytes) for one in listed):
        lengths = sorted({len(one) for one in listed})
        if len(lengths) > 1:
            raise InvalidValue(f"the reports of a plan have one length, these have {lengths[0]} to {lengths[-1]} bytes")
        return np.frombuffer(b"".join(listed), dtype=np.uint8).reshape(len(listed), lengths[0])
    try:
        return np.asarray(listed)
    except ValueError as error:
        raise InvalidValue("reports must be an (n, width) array of uint8, or n payloads of bytes") from error
