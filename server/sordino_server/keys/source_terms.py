"""What a key of role aggregator says of its source."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import check_source

# The largest integer that every reader of JSON keeps.
MAX_REPORTS = (1 << 53) - 1


@dataclass(frozen=True)
class SourceTerms:
    """A source of sums by its name, and the most reports of a round that it may have."""

    name: str
    max_reports: int

    def __post_init__(self) -> None:
        check_source(self.name)
        check_range(self.max_reports, 1, MAX_REPORTS, "max_reports of a source")


def source_terms(name: str | None, max_reports: int | None) -> SourceTerms | None:
    """The source that a key belongs to, None where nothing is said; raises InvalidValue for one without the other."""
    if name is None and max_reports is None:
        return None
    if name is None or max_reports is None:
        raise InvalidValue("source and max_reports belong together: give both, or neither")
    return SourceTerms(name, max_reports)
