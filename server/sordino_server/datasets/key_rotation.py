"""Another key for the rows of all datasets, in one transaction: a kill leaves every one of them under the old key."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.datasets import repository
from sordino_server.datasets.sealing import beside
from sordino_server.kit.sealing import CannotOpen, Sealer
from sordino_server.models import Dataset
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True)
class KeyRotation:
    """How many datasets were sealed again, and how many the new key opened `already`, after an earlier run."""

    resealed: int
    already: int


def rotate(session: Session, old: Sealer, new: Sealer) -> KeyRotation:
    """Seal the rows of every dataset with the new key; the rows themselves and the ledger stay as they are.

    Raises InvalidValue, which names the dataset, where neither key opens one: roll back then, and nothing is changed.
    Digests of requests under the old key are deleted, since who has it could test guesses of rows with them.
    """
    repository.lock_against_additions(session)
    resealed = already = 0
    for identifier in repository.stored(session):
        dataset = repository.get(session, identifier)
        sealed = repository.sealed_cells(session, identifier) or b""
        try:
            repository.put_cells(session, identifier, new.seal(old.open(sealed, beside(dataset)), beside(dataset)))
            resealed += 1
        except CannotOpen:
            _check_new(sealed, dataset, new)
            already += 1
        session.expunge(dataset)
    repository.forget_additions(session)
    return KeyRotation(resealed, already)


def _check_new(sealed: bytes, dataset: Dataset, new: Sealer) -> None:
    try:
        new.open(sealed, beside(dataset))
    except CannotOpen:
        raise InvalidValue(
            f"neither SORDINO_DATASET_KEY nor the new key opens the rows of dataset {dataset.name!r}; nothing was "
            "changed. Set the key that it was added with, or delete its rows with `sordino datasets delete`",
            dataset.name,
        ) from None
