"""What an analyst registers as a workload: linear queries of the histogram, or a statistic of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from sordino_analysis.questions.linear import WorkloadError, WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.files import read_document
from sordino_analysis.questions.pairwise import PairwiseSpecification, parse_statistic

_EITHER = "a workload has either queries or a statistic: give one of the two"


def _asks(value: Any) -> str | None:
    if isinstance(value, WorkloadSpecification | PairwiseSpecification):
        return "queries" if isinstance(value, WorkloadSpecification) else "statistic"
    if not isinstance(value, Mapping):
        return "queries"
    given = [form for form in ("queries", "statistic") if form in value]
    return given[0] if len(given) == 1 else None


Specification = Annotated[
    Annotated[WorkloadSpecification, Tag("queries")] | Annotated[PairwiseSpecification, Tag("statistic")],
    Discriminator(_asks, custom_error_type="either", custom_error_message=_EITHER),
]


def parse_either(document: Mapping[str, Any]) -> WorkloadSpecification | PairwiseSpecification:
    """Read a workload of either form strictly; WorkloadError names the place of everything that does not fit."""
    form = _asks(document)
    if form is None:
        raise WorkloadError(_EITHER + _unknown(document), document)
    return parse_statistic(document) if form == "statistic" else parse_specification(document)


def _unknown(document: Mapping[str, Any]) -> str:
    """A misspelt `queries` or `statistic` is among these."""
    known = WorkloadSpecification.model_fields.keys() | PairwiseSpecification.model_fields.keys()
    names = [repr(name) for name in document if name not in known]
    return f" (there is no field {', '.join(names)})" if names else ""


def load_either(path: Path | str) -> WorkloadSpecification | PairwiseSpecification:
    """Read a YAML or JSON file of either form, with an optional matrix in CSV or NPY; raises WorkloadError."""
    return parse_either(read_document(path))
