"""/v1/datasets"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.datasets import service
from sordino_server.datasets.checking import CheckedDataset, check_dataset
from sordino_server.datasets.schemas import (
    CapChange,
    DatasetDocument,
    DatasetEntry,
    DatasetLedger,
    DatasetList,
    DatasetOrder,
)
from sordino_server.datasets.sealing import sealer_of
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Admin, Analyst
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRequest, OperatorRoute, PrivateBodyRoute
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=OperatorRoute)
additions = APIRouter(prefix="/datasets", tags=["datasets"], route_class=PrivateBodyRoute)

_IfMatch = Annotated[str, Header(max_length=64, description="ETag of the cap as last read.")]
# Read by the endpoint, in a process of its own, and so not by FastAPI.
_SCHEMA = {"$ref": f"#/components/schemas/{DatasetOrder.__name__}"}
_BODY = {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}


async def _checked(context: Injected, request: Request, _: Admin) -> CheckedDataset:
    assert isinstance(request, OperatorRequest)
    request.check_json()
    sealer_of(context.settings.dataset_key)
    return await context.checks.run(check_dataset, request.arrived.content)


Checked = Annotated[CheckedDataset, Depends(_checked)]


@additions.post("", status_code=201, response_model=DatasetDocument, openapi_extra={"requestBody": _BODY})
def add_dataset(context: Injected, _: Admin, once: Once, checked: Checked) -> Response:
    """Add a dataset. Its rows are counted and sealed, and no answer of this server shows a count without noise."""

    sealer = sealer_of(context.settings.dataset_key)

    def act(session: Session) -> PostAnswer:
        dataset = service.add(session, checked, sealer, context.clock.now())
        shown = service.document(session, dataset, service.warnings_of(session, dataset)).model_dump(mode="json")
        return PostAnswer(201, shown, location=f"/v1/datasets/{dataset.id}")

    # A plain digest of the rows would tell who reads the database alone whether a guess of them is right.
    return replace(once, body_sha256=sealer.fingerprint(once.body_sha256)).run("add dataset", act)


@router.get("")
def list_datasets(context: Injected, _: Analyst, page: PageQuery) -> DatasetList:
    """Datasets, newest first, those whose rows were deleted included."""
    with context.database.read("list datasets") as session:
        rows, token = service.listed(session, page)
        return DatasetList(datasets=[DatasetEntry.of(row) for row in rows], next_page_token=token)


@router.get("/{dataset_id}")
def get_dataset(context: Injected, _: Analyst, dataset_id: DigestPath, response: Response) -> DatasetDocument:
    """A dataset's terms, its cap and what is spent of it, with the ETag that a change requires."""
    with context.database.read("get dataset") as session:
        dataset = service.get(session, dataset_id)
        response.headers["ETag"] = service.etag_of(dataset)
        return service.document(session, dataset)


@router.patch("/{dataset_id}")
def change_dataset(
    context: Injected, operator: Admin, dataset_id: DigestPath, if_match: _IfMatch, body: CapChange, response: Response
) -> DatasetDocument:
    """Change the cap, to no less than is spent. `If-Match` names the cap that the change is based on."""
    name = "change dataset"

    def change(session: Session) -> DatasetDocument:
        dataset = service.change_cap(session, dataset_id, body, if_match)
        keys.record(session, operator, name, f"/v1/datasets/{dataset_id}", context.clock.now())
        response.headers["ETag"] = service.etag_of(dataset)
        return service.document(session, dataset)

    return context.database.run(name, change)


@router.delete("/{dataset_id}")
def delete_dataset(context: Injected, operator: Admin, dataset_id: DigestPath) -> DatasetDocument:
    """Delete the rows. What was spent stays spent, also if rows are added under this name again."""
    name, now = "delete dataset", context.clock.now()

    def delete(session: Session) -> DatasetDocument:
        dataset, changed = service.delete_rows(session, dataset_id, now)
        if changed:
            keys.record(session, operator, name, f"/v1/datasets/{dataset_id}", now)
        return service.document(session, dataset)

    return context.database.run(name, delete)


@router.get("/{dataset_id}/ledger")
def get_dataset_ledger(context: Injected, _: Analyst, dataset_id: DigestPath, page: PageQuery) -> DatasetLedger:
    """What releases from this dataset spent, newest first."""
    with context.database.read("get dataset ledger") as session:
        return service.ledger(session, dataset_id, page)
