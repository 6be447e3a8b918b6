"""Answers on demand as CSV: a row an answer."""

from __future__ import annotations

from sordino_server.answers.schemas import AnswerDocument, QuantileOnDemand, RuleOnAverage, ShareOnDemand
from sordino_server.estimates.table import ANSWER_COLUMNS, written

RULE_COLUMNS = ("label", "value", "standard_error", "interval_low", "interval_high", "p_value", "validity", "sentence")
_SPANS = ("value", "interval", "band", "population_interval")
QUANTILE_COLUMNS = ("label", "unit", "bin", *(f"{span}_{end}" for span in _SPANS for end in ("low", "high")), "beyond")
_SHARED = ("users", "epsilon", "level", "bias_bound", "compared", "campaign", "device_plan", "analyst_plan")


def as_csv(content: bytes) -> str:
    """The table of the answers (RFC 4180), with a header line."""
    document = AnswerDocument.model_validate_json(content)
    terms = (document.users, document.epsilon, document.level, document.bias_bound, document.compared)
    shared = (*terms, document.campaign, document.plan.device, document.plan.analyst)
    columns = {"quantile": QUANTILE_COLUMNS, "rule": RULE_COLUMNS}.get(document.kind, ANSWER_COLUMNS)
    rows: list[tuple[object, ...]] = [(*columns, *_SHARED)]
    for each in document.answers:
        rows.append((each.label, *_own(each), *shared))
    return written(rows)


def _own(each: ShareOnDemand | QuantileOnDemand | RuleOnAverage) -> tuple[object, ...]:
    """The cells of one answer after its label."""
    if isinstance(each, RuleOnAverage):
        ends = each.interval or (None, None)
        return each.value, each.standard_error, *ends, each.p_value, each.validity, each.sentence
    if isinstance(each, QuantileOnDemand):
        return each.unit, each.bin, *(end for span in _SPANS for end in getattr(each, span)), each.beyond
    population = (each.population_standard_error, *each.population_interval, each.consistent)
    return each.value, each.standard_error, *each.interval, *each.band, *population
