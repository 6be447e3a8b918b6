"""Answers on demand as CSV: a row an answer."""

from __future__ import annotations

from sordino_server.answers.schemas import AnswerDocument, RuleOnAverage, ShareOnDemand
from sordino_server.estimates.table import ANSWER_COLUMNS, written

RULE_COLUMNS = ("label", "value", "standard_error", "interval_low", "interval_high", "p_value", "validity", "sentence")
QUANTILE_COLUMNS = ("label", "value", "interval_low", "interval_high", "band_low", "band_high")
_SHARED = ("users", "epsilon", "level", "bias_bound", "compared", "campaign", "device_plan", "analyst_plan")


def as_csv(content: bytes) -> str:
    """The table of the answers (RFC 4180), with a header line."""
    document = AnswerDocument.model_validate_json(content)
    terms = (document.users, document.epsilon, document.level, document.bias_bound, document.compared)
    shared = (*terms, document.campaign, document.plan.device, document.plan.analyst)
    columns = {"quantile": QUANTILE_COLUMNS, "rule": RULE_COLUMNS}.get(document.kind, ANSWER_COLUMNS)
    rows: list[tuple[object, ...]] = [(*columns, *_SHARED)]
    for each in document.answers:
        own: tuple[object, ...] = (each.label, each.value)
        if isinstance(each, RuleOnAverage):
            ends = each.interval or (None, None)
            rows.append((*own, each.standard_error, *ends, each.p_value, each.validity, each.sentence, *shared))
            continue
        if isinstance(each, ShareOnDemand):
            population = (each.population_standard_error, *each.population_interval, each.consistent)
            own += (each.standard_error, *each.interval, *each.band, *population)
        else:
            own += (*each.interval, *each.band)
        rows.append((*own, *shared))
    return written(rows)
