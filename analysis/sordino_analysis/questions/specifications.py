"""What can be asked: each kind of question has a field of its own in a workload, and a form that reads it.

A new kind is a line in `KINDS` and a member of `Specification`, and what plans it a line in `requests`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from sordino_analysis.questions.linear import WorkloadError, WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.files import read_document
from sordino_analysis.questions.pairwise import PairwiseSpecification, parse_statistic
from sordino_shared.protocol import Digest

AnySpecification = WorkloadSpecification | PairwiseSpecification


@dataclass(frozen=True)
class QuestionKind:
    """The field that only this kind has, and the reader of its documents."""

    field: str
    form: type[AnySpecification]
    parse: Callable[[Mapping[str, Any]], AnySpecification]


KINDS = (
    QuestionKind("queries", WorkloadSpecification, parse_specification),
    QuestionKind("statistic", PairwiseSpecification, parse_statistic),
)
_EITHER = "a workload has either queries or a statistic: give one of the two"


def kind_of(document: Mapping[str, Any] | AnySpecification) -> QuestionKind | None:
    """The kind of a workload, written or read; None where it has the field of no kind, or of several."""
    fields = document if isinstance(document, Mapping) else type(document).model_fields
    given = [kind for kind in KINDS if kind.field in fields]
    return given[0] if len(given) == 1 else None


def _tag(value: Any) -> str | None:
    # What is no mapping at all is refused by the first form, which says what it should be.
    written = value if isinstance(value, Mapping | AnySpecification) else {KINDS[0].field: value}
    kind = kind_of(written)
    return None if kind is None else kind.field


Specification = Annotated[
    Annotated[WorkloadSpecification, Tag("queries")] | Annotated[PairwiseSpecification, Tag("statistic")],
    Discriminator(_tag, custom_error_type="either", custom_error_message=_EITHER),
]


def parse_either(document: Mapping[str, Any]) -> AnySpecification:
    """Read a workload of any kind strictly; raises WorkloadError with the place of everything that does not fit."""
    kind = kind_of(document) if isinstance(document, Mapping) else KINDS[0]
    if kind is None:
        raise WorkloadError(_EITHER + _unknown(document), document)
    return kind.parse(document)


def load_either(path: Path | str) -> AnySpecification:
    """Read a YAML or JSON file of any kind, with a matrix in CSV or NPY in the same folder; raises WorkloadError."""
    return parse_either(read_document(path))


def canonical_text(specification: AnySpecification) -> str:
    """The JSON under whose digest a workload is stored: sorted keys, no spaces."""
    return json.dumps(specification.canonical(), sort_keys=True, separators=(",", ":"), allow_nan=False)


def question_digest(specification: AnySpecification) -> Digest:
    """The digest of the canonical text, by which a stored workload is named."""
    return Digest.of(canonical_text(specification).encode())


def _unknown(document: Mapping[str, Any]) -> str:
    """A misspelt field of a kind is among these."""
    known = {name for kind in KINDS for name in kind.form.model_fields}
    names = [repr(name) for name in document if name not in known]
    return f" (there is no field {', '.join(names)})" if names else ""
