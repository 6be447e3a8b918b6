"""The estimate as CSV: a row a query or statistic, and on every row what a spreadsheet needs to cite it.

A text that a spreadsheet would take for a formula stands behind an apostrophe: the label `=1+1` is written `'=1+1`.
Numbers are never touched.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

from sordino_server.estimates.concept_document import every_rule
from sordino_server.estimates.concept_schemas import ConceptDocument
from sordino_server.estimates.schemas import EstimateDocument, PairwiseDocument, QueryEstimate

ANSWER_COLUMNS = (
    "label",
    "value",
    "standard_error",
    "interval_low",
    "interval_high",
    "band_low",
    "band_high",
    "population_standard_error",
    "population_interval_low",
    "population_interval_high",
    "consistent",
)
COLUMNS = (
    *ANSWER_COLUMNS,
    "expected_coverage",
    "population_expected_coverage",
    "enough_reports",
    "users",
    "unlisted",
    "compared",
    "epsilon",
    "level",
    "bias_bound",
    "campaign",
    "plan_device",
    "plan_analyst",
)


STATISTIC_COLUMNS = (
    "statistic",
    "value",
    "standard_error",
    "interval_low",
    "interval_high",
    "population_standard_error",
    "population_interval_low",
    "population_interval_high",
    "target",
    "users_by_round",
    "epsilon",
    "level",
    "bias_bound",
    "campaign",
    "protocol",
    "protocol_digest",
)


CONCEPT_COLUMNS = (
    "rule",
    "width",
    "loss",
    "standard_error",
    "band_low",
    "band_high",
    "may_be_best",
    "users",
    "epsilon",
    "level",
    "bias_bound",
    "campaign",
    "plan_device",
    "plan_analyst",
)


def as_csv(content: bytes) -> str:
    """The table of a stored estimate (RFC 4180), with a header line."""
    fields = json.loads(content)
    if fields.get("kind") == "concepts":
        return _of_concepts(ConceptDocument.model_validate(fields))
    # Only the estimate of a statistic has a protocol.
    if "protocol" in fields:
        return _of_statistic(PairwiseDocument.model_validate_json(content))
    return _of_queries(EstimateDocument.model_validate_json(content))


def _of_concepts(document: ConceptDocument) -> str:
    """Every rule of the class, by number."""
    shared = (document.users, document.epsilon, document.level, document.bias_bound, document.campaign)
    digests = (document.plan.device, document.plan.analyst)
    rows: list[tuple[object, ...]] = [CONCEPT_COLUMNS]
    for each in every_rule(document):
        own = (each.rule.text, each.rule.width, each.loss, each.standard_error, *each.band, each.may_be_best)
        rows.append((*own, *shared, *digests))
    return written(rows)


def _of_statistic(document: PairwiseDocument) -> str:
    own = (document.value, document.standard_error, *document.interval)
    population = (document.population_standard_error, *document.population_interval)
    users = " ".join(str(each.users) for each in document.rounds)
    terms = (document.target, users, document.epsilon, document.level, document.bias_bound, document.campaign)
    row = (document.statistic, *own, *population, *terms, document.protocol.name, document.protocol.digest)
    return written([STATISTIC_COLUMNS, row])


def _of_queries(document: EstimateDocument) -> str:
    shared = (
        document.users,
        document.unlisted,
        document.compared,
        document.epsilon,
        document.level,
        document.bias_bound,
        document.campaign,
        document.plan.device,
        document.plan.analyst,
    )
    rows: list[tuple[object, ...]] = [COLUMNS]
    for query in document.queries:
        own = (query.value, query.standard_error, *query.interval, *query.band)
        population = (query.population_standard_error, *query.population_interval)
        rows.append((query.label, *own, *population, query.consistent, *_coverage(query), *shared))
    return written(rows)


def _coverage(query: QueryEstimate) -> tuple[float | None, float | None, int | None]:
    """Empty cells where nothing is known or nothing is to be said."""
    coverage = query.coverage
    return (
        (None, None, None)
        if coverage is None
        else (coverage.interval, coverage.population_interval, coverage.enough_reports)
    )


# What begins with these is a formula to one spreadsheet or another, some of which drop blanks before they look.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA_STARTS) else cell


def written(rows: Iterable[tuple[object, ...]]) -> str:
    """Rows as CSV (RFC 4180), without cells that a spreadsheet takes for formulas."""
    table = io.StringIO()
    csv.writer(table).writerows(map(_harmless, row) for row in rows)
    return table.getvalue()
