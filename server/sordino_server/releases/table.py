"""The answers of a release as CSV: a row a query."""

from __future__ import annotations

from sordino_server.estimates.table import ANSWER_COLUMNS, written
from sordino_server.releases.schemas import ReleaseDocument

_SHARES = ("share_interval_low", "share_interval_high")
_SHARED = ("users", "rho", "epsilon", "delta", "neighbours", "level", "bias_bound", "compared", "dataset", "release")


def as_csv(content: bytes) -> str:
    """The table (RFC 4180), with a header line; cells that are null are empty."""
    document = ReleaseDocument.model_validate_json(content)
    own = document.guarantee
    guarantee = (document.users, own.rho, own.epsilon, own.delta, own.neighbours)
    terms = (*guarantee, document.level, document.bias_bound, document.compared)
    rows: list[tuple[object, ...]] = [(*ANSWER_COLUMNS, *_SHARES, *_SHARED)]
    for each in document.queries:
        population = (each.population_standard_error, *(each.population_interval or (None, None)))
        share = each.share_interval or (None, None)
        answer = (each.label, each.value, each.standard_error, *each.interval, *each.band, *population, each.consistent)
        rows.append((*answer, *share, *terms, document.dataset, document.release))
    return written(rows)
