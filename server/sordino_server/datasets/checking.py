"""The rows of a request, counted in a process of its own; what refuses them tells nothing of any row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from sordino_analysis.curator.counts import check_countable, count_rows
from sordino_server.datasets.schemas import DatasetOrder
from sordino_server.errors import ServerError
from sordino_server.kit.json_body import read_json
from sordino_server.validation_problem import invalid_request
from sordino_shared.protocol import Problem

# What a curator's release counts at most.
MOST_ROWS = 2**32


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedDataset:
    """A dataset that can be stored: its canonical terms and its counts (k,).

    `rows` is their number where it is public.
    """

    name: str
    terms: str
    account: str
    cap_nano: int
    rows: int | None
    counts: NDArray[np.int64]


def check_dataset(body: bytes | Path) -> CheckedDataset:
    """The dataset that a request's body describes; raises ServerError or InvalidValue where it cannot be stored."""
    document = _read(body if isinstance(body, bytes) else body.read_bytes())
    try:
        order = DatasetOrder.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise invalid_request([{**item, "loc": ("body", *item["loc"])} for item in found]) from None
    domain = order.built()
    check_countable(domain)
    counts = count_rows(domain, order.columns, MOST_ROWS)
    return CheckedDataset(
        name=order.name,
        terms=order.canonical(),
        account=order.cap.account.value,
        cap_nano=order.cap.nano(),
        rows=int(counts.sum()) if order.neighbours == "replace" else None,
        counts=counts,
    )


def _read(content: bytes) -> object:
    """Without the place of what is wrong, by which rows can be counted."""
    try:
        return read_json(content)
    except ServerError:
        raise ServerError(Problem.MALFORMED_BODY, "the body is not JSON that can be read") from None
