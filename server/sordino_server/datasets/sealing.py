"""Counts of people's rows as the database has them: sealed, and bound to their dataset and its terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from sordino_server.kit.sealing import MAKE_A_KEY, CannotOpen, Sealer
from sordino_server.models import Dataset
from sordino_shared.errors import InvalidValue, SordinoError


def sealer_of(key: SecretStr | None) -> Sealer:
    """The sealer of the settings' key; raises InvalidValue where there is none."""
    if key is None:
        raise InvalidValue(
            f"this server holds no datasets: set SORDINO_DATASET_KEY for the server and its workers, {MAKE_A_KEY}"
        )
    return Sealer(key.get_secret_value())


def beside(dataset: Dataset) -> str:
    """The text that the counts of a dataset are bound to."""
    return f"{dataset.id}\n{dataset.terms}"


def seal_counts(sealer: Sealer, counts: NDArray[np.int64], identifier: str, terms: str) -> bytes:
    """The counts (k,); how many bytes these are depends on k alone."""
    return sealer.seal(np.ascontiguousarray(counts, dtype="<i8").tobytes(), f"{identifier}\n{terms}")


def open_counts(sealer: Sealer, sealed: bytes, dataset: Dataset) -> NDArray[np.int64]:
    """(k,) the exact counts; raises SordinoError where this key does not open them."""
    try:
        content = sealer.open(sealed, beside(dataset))
    except CannotOpen:
        raise SordinoError(
            "the rows of the dataset cannot be opened: is SORDINO_DATASET_KEY the key that they were added with, or "
            "were last sealed with by `sordino db rotate-dataset-key`?"
        ) from None
    return np.frombuffer(content, dtype="<i8").astype(np.int64)
