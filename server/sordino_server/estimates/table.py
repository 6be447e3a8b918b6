"""The estimate as CSV: a row a query, and on every row what a spreadsheet needs to cite it."""

from __future__ import annotations

import csv
import io

from sordino_server.estimates.document import EstimateDocument

COLUMNS = (
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
    "users",
    "epsilon",
    "level",
    "campaign",
    "plan_device",
    "plan_analyst",
)


def as_csv(content: bytes) -> str:
    """The table of a stored estimate (RFC 4180), with a header line."""
    document = EstimateDocument.model_validate_json(content)
    shared = (
        document.users,
        document.epsilon,
        document.level,
        document.campaign,
        document.plan.device,
        document.plan.analyst,
    )
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(COLUMNS)
    for query in document.queries:
        own = (query.value, query.standard_error, *query.interval, *query.band)
        population = (query.population_standard_error, *query.population_interval)
        writer.writerow((query.label, *own, *population, query.consistent, *shared))
    return table.getvalue()
