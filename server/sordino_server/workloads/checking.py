"""What is done with a workload before it is stored or planned, in a process of its own: read, build, measure.

Nothing here touches the database: a workload of half a million bins takes seconds to build, in which uploads would
wait for the transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sordino_analysis.questions.linear import WorkloadSpecification
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.specifications import Specification
from sordino_server.kit.json_body import read_json
from sordino_server.validation_problem import invalid_request
from sordino_shared._checks import check_name
from sordino_shared.protocol import Digest

_FORM: TypeAdapter[WorkloadSpecification | PairwiseSpecification] = TypeAdapter(Specification)


@dataclass(frozen=True)
class CheckedWorkload:
    """A workload that can be built: its canonical JSON, the digest of that, and its sizes."""

    id: str
    name: str
    specification: str
    cells: int | None
    queries: int


def check_workload(body: bytes | Path) -> CheckedWorkload:
    """The workload that a request's body describes; raises ServerError or WorkloadError where it cannot be asked."""
    document = read_json(body if isinstance(body, bytes) else body.read_bytes())
    try:
        specification = _FORM.validate_python(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise invalid_request([{**item, "loc": ("body", *item["loc"])} for item in found]) from error
    check_name(specification.name, "workload name")
    cells, queries = sizes(specification)
    text = json.dumps(specification.canonical(), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return CheckedWorkload(str(Digest.of(text.encode())), specification.name, text, cells, queries)


def sizes(specification: WorkloadSpecification | PairwiseSpecification) -> tuple[int | None, int]:
    """Cells and queries of what is built once for it; raises WorkloadError where it contradicts itself."""
    if isinstance(specification, PairwiseSpecification):
        specification.check()
        return specification.cells, 1
    built = specification.build()
    return built.size, built.queries
