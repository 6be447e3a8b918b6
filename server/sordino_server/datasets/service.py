"""Datasets, and the filter that stops releases: the sum of a dataset's ledger never passes its cap.

ρ of zCDP and pure ε both add up, also where every release is chosen after the ones before (fully adaptive filters). A
dataset counts one of them: under a cap on ρ a pure release costs ε·tanh(ε/2), under a cap on ε no release of ρ is made.
The ledger belongs to the name: deleting the rows and adding others under it refills nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.guarantees import (
    Accountant,
    BasicComposition,
    ConcentratedComposition,
    Guarantee,
    kind_of,
    restore,
)
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_server.datasets import repository
from sordino_server.datasets.checking import CheckedDataset
from sordino_server.datasets.schemas import CapChange, DatasetDocument, DatasetLedger, SpentEntry, neighbours_of
from sordino_server.datasets.sealing import open_counts, seal_counts
from sordino_server.errors import ServerError, found
from sordino_server.kit.pagination import Page
from sordino_server.kit.sealing import Sealer
from sordino_server.models import Dataset, DatasetAccount, DatasetSpending
from sordino_server.populations.names import check_population, identifier_of
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Problem

_ACCOUNTANTS: dict[str, Accountant] = {
    DatasetAccount.RHO: ConcentratedComposition(),
    DatasetAccount.EPSILON: BasicComposition(),
}
_SYMBOLS: dict[str, str] = {DatasetAccount.RHO: "ρ", DatasetAccount.EPSILON: "ε"}
_NONE = "there is no dataset of this id; add it with POST /v1/datasets"


class DatasetBudgetExceeded(ServerError):
    """The release would spend more than the dataset's cap leaves."""

    def __init__(self, dataset: Dataset, asks: int, spent: int, queued: int = 0) -> None:
        waiting = f" and {queued / NANO:g} is asked by releases that are queued" if queued else ""
        symbol = _SYMBOLS[dataset.account]
        super().__init__(
            Problem.BUDGET_EXCEEDED,
            f"the release asks for {symbol} = {asks / NANO:g}; of {symbol} = {dataset.cap_nano / NANO:g} that dataset "
            f"{dataset.name!r} allows, {spent / NANO:g} is spent{waiting}; ask for less, or have an admin raise "
            "the cap",
            dataset=dataset.id,
            asks=asks / NANO,
            spent=spent / NANO,
            cap=dataset.cap_nano / NANO,
        )


def add(session: Session, checked: CheckedDataset, sealer: Sealer, now: int) -> Dataset:
    """A dataset whose rows are sealed; what its name spent before stays spent.

    Raises `already-exists` where its name is taken, and InvalidValue where the cap of one that was deleted is raised,
    or is below what was spent, or where its neighbours change though something was spent, or where the key of `sealer`
    is not that of the datasets that are there.
    """
    check_population(checked.name, "dataset")
    identifier = identifier_of(checked.name)
    row = Dataset(
        id=identifier,
        name=checked.name,
        terms=checked.terms,
        rows=checked.rows,
        cells=seal_counts(sealer, checked.counts, identifier, checked.terms),
        account=checked.account,
        cap_nano=checked.cap_nano,
        version=1,
        created_at=now,
    )
    added = row if repository.add(session, row) else _added_again(session, row)
    # Behind the change, which waits for a rotation of the key under way.
    _check_key(session, added, sealer)
    return added


def _check_key(session: Session, added: Dataset, sealer: Sealer) -> None:
    other = repository.another_stored(session, added.id)
    if other is None:
        return
    try:
        open_rows(session, other, sealer)
    except SordinoError:
        raise InvalidValue(
            f"the SORDINO_DATASET_KEY of this server does not open dataset {other.name!r}, and all have one "
            "key: set the key that they were last sealed with, and start the server again"
        ) from None


def _added_again(session: Session, row: Dataset) -> Dataset:
    """The dataset of this name with other rows, where its rows were deleted."""
    known = found(repository.find_for_change(session, row.id), _NONE)
    if known.name != row.name:
        raise InvalidValue(f"the name differs from that of dataset {known.name!r} in its writing alone: use that one")
    if known.deleted_at is None:
        raise ServerError(
            Problem.ALREADY_EXISTS,
            f"there is a dataset of this name, {known.name!r}; delete its rows before you add others",
            id=known.id,
        )
    if row.account != known.account or row.cap_nano > known.cap_nano:
        raise InvalidValue(
            f"the cap of dataset {known.name!r} was {_SYMBOLS[known.account]} = {known.cap_nano / NANO:g} before its "
            "rows were deleted: add it with that cap, then raise it"
        )
    spent = repository.spent(session, known.id)
    _check_cap(known, row.cap_nano, spent)
    # ρ of releases that protect the content of a row does not add up with ρ of those that protect its presence.
    if spent and neighbours_of(row) != neighbours_of(known):
        raise InvalidValue(
            f"dataset {known.name!r} has spent {_SYMBOLS[known.account]} with `neighbours: {neighbours_of(known)}`, "
            "and what protects another kind of neighbours does not add up with it: keep that"
        )
    known.terms, known.rows, known.cells = row.terms, row.rows, row.cells
    known.cap_nano, known.deleted_at = row.cap_nano, None
    known.version += 1
    session.flush()
    return known


def warnings_of(session: Session, dataset: Dataset) -> tuple[str, ...]:
    """What the operator should know of a dataset that was just added: rows that may be stored under two names."""
    domain = json.loads(dataset.terms)["domain"]
    others = repository.others_of_size(session, dataset)
    names = [repr(other.name) for other in others if json.loads(other.terms)["domain"] == domain]
    if not names:
        return ()
    size = "a secret number" if dataset.rows is None else "the same number"
    return (
        f"{', '.join(names)} has the same domain and {size} of rows: caps hold one by one, so if these are the same "
        f"people their {_SYMBOLS[dataset.account]} adds up",
    )


def get(session: Session, identifier: str) -> Dataset:
    """The dataset of this id, also where its rows were deleted; raises `not-found`."""
    return found(repository.find(session, identifier), _NONE)


def stored_for_change(session: Session, identifier: str) -> Dataset:
    """The dataset, locked until the transaction ends; raises `not-found`, or `illegal-transition` without its rows."""
    dataset = found(repository.find_for_change(session, identifier), _NONE)
    if dataset.deleted_at is not None:
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"the rows of dataset {dataset.name!r} were deleted")
    return dataset


def change_cap(session: Session, identifier: str, change: CapChange, etag: str) -> Dataset:
    """Another cap of at least what is spent, if nobody changed it since `etag`."""
    dataset = found(repository.find_for_change(session, identifier), _NONE)
    if etag.strip() != etag_of(dataset):
        raise ServerError(Problem.PRECONDITION_FAILED, f"the cap was changed meanwhile; now {etag_of(dataset)}")
    if change.account != dataset.account:
        raise InvalidValue(
            f"the cap of dataset {dataset.name!r} is on {_SYMBOLS[dataset.account]}, and stays so: what was spent in "
            f"one account cannot be counted in another. Give `{dataset.account}`"
        )
    nano = change.nano()
    _check_cap(dataset, nano, repository.spent(session, identifier))
    dataset.cap_nano = nano
    dataset.version += 1
    return dataset


def delete_rows(session: Session, identifier: str, now: int) -> tuple[Dataset, bool]:
    """The dataset without its rows, and whether it had any; ledger and releases stay."""
    dataset = found(repository.find_for_change(session, identifier), _NONE)
    changed = dataset.deleted_at is None
    if changed:
        dataset.cells, dataset.rows, dataset.deleted_at = None, None, now
    return dataset, changed


def open_rows(session: Session, dataset: Dataset, sealer: Sealer) -> NDArray[np.int64]:
    """(k,) the exact counts, for a release alone; raises SordinoError where the key is another one."""
    return open_counts(sealer, repository.sealed_cells(session, dataset.id) or b"", dataset)


def price(dataset: Dataset, guarantee: Guarantee) -> int:
    """What the account of the dataset is charged for a release, in nano-ρ or nano-ε.

    Raises InvalidValue for a release of ρ where the cap is on ε.
    """
    if dataset.account == DatasetAccount.EPSILON and isinstance(guarantee, Zcdp):
        raise InvalidValue(
            f"the cap of dataset {dataset.name!r} is on pure ε, which no release of ρ or of (ε, δ) keeps: ask for "
            "`epsilon` alone",
            guarantee,
        )
    return _ACCOUNTANTS[dataset.account].price(guarantee)


def check_left(session: Session, dataset: Dataset, guarantee: Guarantee) -> None:
    """Raise DatasetBudgetExceeded unless the cap has room for a release beside all that are queued.

    The dataset is locked. Raises InvalidValue for a release of ρ where the cap is on ε.
    """
    spent, waiting = repository.spent(session, dataset.id), repository.queued(session, dataset.id)
    queued = sum(price(dataset, restore(kind, nano)) for kind, nano in waiting)
    asks = price(dataset, guarantee)
    if spent + queued + asks > dataset.cap_nano:
        raise DatasetBudgetExceeded(dataset, asks, spent, queued)


def spend(session: Session, dataset: Dataset, release: str, guarantee: Guarantee, now: int) -> None:
    """Enter a release in the ledger of the locked dataset; raises DatasetBudgetExceeded.

    Its noise is drawn after this transaction is committed, never before.
    """
    spent, asks = repository.spent(session, dataset.id), price(dataset, guarantee)
    if spent + asks > dataset.cap_nano:
        raise DatasetBudgetExceeded(dataset, asks, spent)
    entry = DatasetSpending(id=release, dataset_id=dataset.id, kind=kind_of(guarantee), nano=asks, created_at=now)
    repository.add_entry(session, entry)


def etag_of(dataset: Dataset) -> str:
    """The strong ETag of a dataset's cap."""
    return f'"{dataset.version}"'


def document(session: Session, dataset: Dataset, warnings: tuple[str, ...] = ()) -> DatasetDocument:
    """The dataset with what its releases spent."""
    return DatasetDocument.of(dataset, repository.spent(session, dataset.id), warnings)


def listed(session: Session, page: Page) -> tuple[Sequence[Dataset], str | None]:
    """A page of datasets, newest first, and the token of the next one."""
    return repository.listed(session, page)


def ledger(session: Session, identifier: str, page: Page) -> DatasetLedger:
    """A page of what releases spent, newest first; raises `not-found`."""
    account = get(session, identifier).account
    rows, token = repository.ledger(session, identifier, page)
    return DatasetLedger(entries=[SpentEntry.of(row, account) for row in rows], next_page_token=token)


def _check_cap(dataset: Dataset, cap_nano: int, spent: int) -> None:
    if cap_nano < spent:
        raise InvalidValue(
            f"dataset {dataset.name!r} has spent {_SYMBOLS[dataset.account]} = {spent / NANO:g}, and "
            f"{cap_nano / NANO:g} is less: a cap is at least what was spent"
        )
