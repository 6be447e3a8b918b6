"""The rows that a campaign's stored estimate has in a table of estimates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sordino_analysis.documents.result_table import Cell, cells_of_bounds
from sordino_server.estimates.concept_schemas import ConceptDocument
from sordino_server.estimates.schemas import EstimateDocument, Interval, PairwiseDocument
from sordino_server.kit.clock import iso_8601
from sordino_server.models import Campaign
from sordino_shared.protocol import DrawOneRound, Manifest

Row = dict[str, Cell]
WARNING_SEPARATOR = " | "


def rows_of(campaign: Campaign, content: bytes) -> Iterator[Row]:
    """A row for each query of the stored estimate, or one for a statistic."""
    shared: Row = {
        "campaign": campaign.name,
        "campaign_id": campaign.id,
        "population": campaign.population,
        "opened": None if campaign.opened_at is None else iso_8601(campaign.opened_at),
        "closed": None if campaign.closed_at is None else iso_8601(campaign.closed_at),
    }
    fields = json.loads(content)
    if fields.get("kind") == "concepts":
        for each in _of_concepts(ConceptDocument.model_validate(fields)):
            yield shared | each
        return
    # Only the estimate of a statistic has a protocol.
    if "protocol" in fields:
        yield shared | _of_statistic(Manifest.read(campaign.manifest), PairwiseDocument.model_validate_json(content))
        return
    for own in _of_queries(EstimateDocument.model_validate_json(content)):
        yield shared | own


def _of_queries(document: EstimateDocument) -> Iterator[Row]:
    terms: Row = {
        "users": document.users,
        "epsilon": document.epsilon,
        "level": document.level,
        "bias_bound": document.bias_bound,
        "mechanism": document.mechanism,
        "warnings": _joined(document.warnings),
    }
    for query in document.queries:
        own: Row = {
            "kind": query.kind or None,
            "label": query.label,
            "value": query.value,
            "standard_error": query.standard_error,
            "population_standard_error": query.population_standard_error,
            "consistent": query.consistent,
        }
        ends = _ends("", query.interval) | _ends("band_", query.band) | _ends("population_", query.population_interval)
        yield own | ends | cells_of_bounds(query.bounds) | terms


def _of_concepts(document: ConceptDocument) -> Iterator[Row]:
    """The listed rules; none has an interval of its own, for the same reports chose among them."""
    terms: Row = {
        "kind": "concept",
        "users": document.users,
        "epsilon": document.epsilon,
        "level": document.level,
        "bias_bound": document.bias_bound,
        "mechanism": document.mechanism,
        "warnings": _joined(document.warnings),
    }
    for each in document.rules:
        own: Row = {
            "label": each.rule.text,
            "value": each.loss,
            "population_standard_error": each.standard_error,
        }
        yield terms | own | _ends("band_", each.band)


def _of_statistic(manifest: Manifest, document: PairwiseDocument) -> Row:
    counted = [each.users for each in document.rounds]
    own: Row = {
        "kind": "statistic",
        "label": document.statistic,
        "value": document.value,
        "standard_error": document.standard_error,
        "population_standard_error": document.population_standard_error,
        # Each device answers the one round that it drew, or every round.
        "users": sum(counted) if isinstance(manifest.assignment, DrawOneRound) else counted[-1],
        "epsilon": document.epsilon,
        "level": document.level,
        "bias_bound": document.bias_bound,
        "mechanism": document.protocol.name,
        "warnings": _joined(document.warnings),
    }
    return own | _ends("", document.interval) | _ends("population_", document.population_interval)


def _ends(prefix: str, interval: Interval) -> Row:
    return {f"{prefix}lower": interval[0], f"{prefix}upper": interval[1]}


def _joined(warnings: Sequence[str]) -> str | None:
    return WARNING_SEPARATOR.join(warnings) or None
