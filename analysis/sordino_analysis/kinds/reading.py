"""Stored estimates are read by their kind; what is not one is refused with the reason."""

from __future__ import annotations

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.reading import UnreadableEstimate, checked_parts, document_of, plain_of
from sordino_analysis.kinds.registry import UnknownKind, kind_of_answers

__all__ = ["UnreadableEstimate", "estimate_of", "read_estimate"]


def read_estimate(content: bytes | str) -> EstimateDocument:
    """The estimate in stored bytes; raises UnreadableEstimate."""
    return estimate_of(plain_of(content))


def estimate_of(document: object) -> EstimateDocument:
    """The estimate in JSON that was read; raises UnreadableEstimate."""
    plain = checked_parts(document)
    try:
        kind = kind_of_answers(plain["kind"])
    except UnknownKind as error:
        raise UnreadableEstimate(str(error)) from error
    estimate = document_of(plain, kind.extras)
    for name in (*kind.common_terms, *kind.terms):
        if name not in estimate.terms:
            raise UnreadableEstimate(f"{kind.name}.terms.{name}: Field required")
    return estimate
