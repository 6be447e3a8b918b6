"""Queries on datasets and their ledger."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from sordino_server.kit import pagination
from sordino_server.kit.db import AS_BYTES, FOR_CHANGE
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page
from sordino_server.models import Dataset, DatasetSpending, IdempotencyKey, Release, ReleaseState


def add(session: Session, dataset: Dataset) -> bool:
    """Insert a dataset; False where there is or was one of its name."""
    return insert_if_absent(session, dataset)[1]


def find(session: Session, identifier: str) -> Dataset | None:
    """The dataset of this id, also where its rows were deleted."""
    return session.get(Dataset, identifier)


def find_for_change(session: Session, identifier: str) -> Dataset | None:
    """The dataset, locked against changes of its cap, its rows and its ledger until the transaction ends."""
    return session.get(Dataset, identifier, with_for_update=FOR_CHANGE, populate_existing=True)


def get(session: Session, identifier: str) -> Dataset:
    """The dataset of this id, which there is."""
    return session.get_one(Dataset, identifier)


def stored(session: Session) -> Sequence[str]:
    """The ids of all datasets that have rows."""
    return session.scalars(select(Dataset.id).where(Dataset.deleted_at.is_(None)).order_by(Dataset.id)).all()


def another_stored(session: Session, identifier: str) -> Dataset | None:
    """Any dataset that has rows, except this one."""
    query = select(Dataset).where(Dataset.deleted_at.is_(None), Dataset.id != identifier)
    return session.scalars(query.order_by(Dataset.id).limit(1)).first()


def lock_against_additions(session: Session) -> None:
    """Until the transaction ends no rows are added, changed or deleted; they are read. SQLite has one writer anyway."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("LOCK TABLE datasets IN SHARE ROW EXCLUSIVE MODE"))


def put_cells(session: Session, identifier: str, sealed: bytes) -> None:
    """Replace the sealed rows."""
    session.execute(update(Dataset).where(Dataset.id == identifier).values(cells=sealed))


def forget_additions(session: Session) -> None:
    """Delete the digests and answers that are remembered for idempotency keys of added datasets."""
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.method_path == "POST /v1/datasets"))


def sealed_cells(session: Session, identifier: str) -> bytes | None:
    """The sealed rows."""
    query = select(Dataset.cells).where(Dataset.id == identifier)
    return session.scalar(query, execution_options=AS_BYTES)


def others_of_size(session: Session, dataset: Dataset) -> Sequence[Dataset]:
    """Other datasets that are stored, of the same public number of rows, or whose number is secret too."""
    query = select(Dataset).where(Dataset.id != dataset.id, Dataset.deleted_at.is_(None))
    return session.scalars(query.where(Dataset.rows.is_not_distinct_from(dataset.rows))).all()


def spent(session: Session, identifier: str) -> int:
    """What releases spent, ever, in the account of the dataset: nano-ρ or nano-ε."""
    query = select(func.coalesce(func.sum(DatasetSpending.nano), 0)).where(DatasetSpending.dataset_id == identifier)
    return int(session.scalars(query).one())


def queued(session: Session, identifier: str) -> Sequence[tuple[str, int]]:
    """Kind and nano of the guarantees of releases that are to be charged yet."""
    query = select(Release.kind, Release.nano).where(Release.dataset_id == identifier)
    found = session.execute(query.where(Release.state == ReleaseState.QUEUED))
    return [(kind, nano) for kind, nano in found]


def add_entry(session: Session, entry: DatasetSpending) -> None:
    """Append to the ledger."""
    session.add(entry)
    session.flush()


def listed(session: Session, page: Page) -> tuple[Sequence[Dataset], str | None]:
    """A page of datasets, newest first, and the token of the next one."""
    return pagination.listed(session, select(Dataset), Dataset.created_at, Dataset.id, page)


def ledger(session: Session, identifier: str, page: Page) -> tuple[Sequence[DatasetSpending], str | None]:
    """A page of a dataset's ledger, newest first, and the token of the next one."""
    query = select(DatasetSpending).where(DatasetSpending.dataset_id == identifier)
    return pagination.listed(session, query, DatasetSpending.created_at, DatasetSpending.id, page)
