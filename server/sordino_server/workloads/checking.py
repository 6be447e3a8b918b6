"""What is done with a workload before it is stored or planned, in a process of its own: read, build, measure.

Nothing here touches the database: a workload of half a million bins takes seconds to build, in which uploads would
wait for the transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sordino_analysis.kinds.specifications import Specification
from sordino_analysis.questions.question import WrittenQuestion, canonical_text
from sordino_analysis.requests import kind_of_question
from sordino_server.kit.json_body import read_json
from sordino_server.validation_problem import invalid_request
from sordino_shared._checks import check_name
from sordino_shared.domains import MAX_CELLS
from sordino_shared.protocol import Digest

_FORM: TypeAdapter[WrittenQuestion] = TypeAdapter(Specification)


@dataclass(frozen=True, kw_only=True)
class CheckedWorkload:
    """A workload that can be built: its canonical JSON, the digest of that, its kind of question and its sizes.

    There are no `cells` while a number of bins is open, and where there are so many that they have no numbers.
    One of the `queries` stands for all items of a histogram that is too long to list.
    """

    id: str
    name: str
    kind: str
    specification: str
    cells: int | None
    queries: int


def check_workload(body: bytes | Path) -> CheckedWorkload:
    """The workload that a request's body describes; raises ServerError or WorkloadError where it cannot be asked."""
    return check_document(read_json(body if isinstance(body, bytes) else body.read_bytes()))


def check_document(document: object) -> CheckedWorkload:
    """The workload that a value of JSON or YAML describes; raises ServerError or WorkloadError."""
    try:
        specification = _FORM.validate_python(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise invalid_request([{**item, "loc": ("body", *item["loc"])} for item in found]) from error
    check_name(specification.name, "workload name")
    cells, queries = specification.sizes()
    text = canonical_text(specification)
    numbered = cells if cells is None or cells <= MAX_CELLS else None
    return CheckedWorkload(
        id=str(Digest.of(text.encode())),
        name=specification.name,
        kind=kind_of_question(specification).name,
        specification=text,
        cells=numbered,
        queries=queries,
    )
