"""What an estimate says of sums that others added up: how many reports each source has, and what to doubt of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_analysis.answers.document import EstimateDocument, SourceReports
from sordino_analysis.kinds.participation import source_warnings
from sordino_server import aggregates
from sordino_server.models import Round
from sordino_server.sources import repository
from sordino_shared.protocol import DrawOneRound, Manifest
from sordino_shared.protocol.campaigns import WHOLE_WEIGHT


def with_sources(
    session: Session, manifest: Manifest, rounds: Sequence[Round], estimate: EstimateDocument
) -> EstimateDocument:
    """The estimate from the `rounds`, with the reports of every source of the campaign and their warnings."""
    came = [(row, aggregates.source_counts(session, row.id)) for row in rounds]
    expected = repository.names_with_keys(session, str(manifest.campaign))
    names = sorted(set(expected).union(*(found for _, found in came)))
    if not names:
        return estimate
    listed = [
        SourceReports(source=name, round=row.index, reports=found.get(name, 0)) for name in names for row, found in came
    ]
    assignment = manifest.assignment
    first_share = assignment.weights[0] / WHOLE_WEIGHT if isinstance(assignment, DrawOneRound) else None
    warnings = [
        text
        for name in names
        for text in source_warnings(name, first_share, {row.index: found.get(name) for row, found in came})
    ]
    return estimate.with_sources(listed, warnings)
