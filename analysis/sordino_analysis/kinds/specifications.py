"""A workload of any kind: each kind has a field of its own in it, by which its form is found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from sordino_analysis.kinds.registry import kind_of, kinds
from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.linear.files import read_document
from sordino_analysis.questions.question import WrittenQuestion

# Each form once, with the field that it has; kinds of one form, and forms of one field, are told apart by the kind.
FORMS: Mapping[type[Any], str] = {kind.form: kind.field for kind in kinds().values()}
_FIRST, *_OTHERS = dict.fromkeys(FORMS.values())
_ONE_OF = f"a workload has either {_FIRST} or a {' or a '.join(_OTHERS)}: give one of the {1 + len(_OTHERS)}"


def _tag(value: Any) -> str | None:
    read = next((form for form in FORMS if isinstance(value, form)), None)
    # What is no mapping at all is refused by the first form, which says what it should be.
    if read is not None or not isinstance(value, Mapping):
        return (read or next(iter(FORMS))).__name__
    kind = kind_of(value)
    return None if kind is None else kind.form.__name__


# The models that read a workload, as the API describes them.
Specification: Any = Annotated[
    reduce(or_, (Annotated[form, Tag(form.__name__)] for form in FORMS)),
    Discriminator(_tag, custom_error_type="either", custom_error_message=_ONE_OF),
]


def parse_question(document: Mapping[str, Any]) -> WrittenQuestion:
    """Read a workload of any kind strictly; raises WorkloadError with the place of everything that does not fit."""
    kind = kind_of(document) if isinstance(document, Mapping) else next(iter(kinds().values()))
    if kind is None:
        raise WorkloadError(_ONE_OF + _unknown(document), document)
    return kind.parse(document)


def load_question(path: Path | str) -> WrittenQuestion:
    """Read a YAML or JSON file of any kind, with a matrix in CSV or NPY in the same folder; raises WorkloadError."""
    return parse_question(read_document(path))


def _unknown(document: Mapping[str, Any]) -> str:
    """A misspelt field of a kind is among these."""
    known = {name for form in FORMS for name in form.model_fields}
    names = [repr(name) for name in document if name not in known]
    return f" (there is no field {', '.join(names)})" if names else ""
