"""The document of an estimate of a concept class, and its rules as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.planning.rounds import RoundPlan
from sordino_analysis.questions.linear.concepts.losses import ConceptClass
from sordino_server.estimates.concept_schemas import (
    MOST_LISTED,
    AllLosses,
    BaseRule,
    BestRules,
    BooleanRules,
    ConceptDocument,
    OrderedRules,
    RuleLoss,
    RuleName,
)
from sordino_server.estimates.schemas import PlanDigests
from sordino_shared.protocol import DevicePart

# The API reads documents and estimates nothing: it does without scipy.
if TYPE_CHECKING:
    from sordino_analysis.elimination.three_rounds import CertifiedRule
    from sordino_analysis.estimation.concepts import ClassOfRules, ConceptEstimate

# A document of so many rules is some megabytes.
_MOST_IN_FULL = 1 << 17
_DIGITS = 6


def concept_document(
    campaign: str, index: int, device: DevicePart, analyst: AnalystPart, estimate: ConceptEstimate
) -> ConceptDocument:
    """The document of one round's estimate."""
    name = partial(_name, estimate.known)
    order = estimate.losses.argsort(kind="stable")[:MOST_LISTED].tolist()
    best = estimate.best.tolist()
    return ConceptDocument(
        campaign=campaign,
        plan=PlanDigests(device=str(device.digest), analyst=str(analyst.digest)),
        rounds=[index],
        workload=analyst.workload,
        mechanism=analyst.mechanism,
        rule=name(estimate.chosen),
        loss=float(estimate.losses[estimate.chosen]),
        band=_band(estimate, estimate.chosen),
        interval=None,
        certified_by_round=None,
        base=BaseRule(
            rule=name(estimate.base), loss=float(estimate.losses[estimate.base]), band=_band(estimate, estimate.base)
        ),
        excess_at_most=estimate.excess,
        bias_bound=estimate.bias_bound,
        beats_base=estimate.beats_base,
        statement=estimate.statement,
        confidence_set=BestRules(
            size=len(best), rules=[name(rule) for rule in best[:MOST_LISTED]], truncated=len(best) > MOST_LISTED
        ),
        concepts=len(estimate.losses),
        rules=list(_rules(estimate, name, order)),
        class_of_rules=_class(estimate.known, len(estimate.losses)),
        all_losses=_in_full(estimate) if len(estimate.losses) <= _MOST_IN_FULL else None,
        target="population",
        validity="worst_case",
        users=estimate.users,
        users_by_round=[estimate.users],
        epsilon=device.guarantee.epsilon,
        level=estimate.level,
        warnings=list(estimate.warnings),
    )


def certified_document(campaign: str, first: RoundPlan, rule: CertifiedRule) -> ConceptDocument:
    """The document of three rounds, or of those that there were; `first` is the plan of round 0."""
    of_class = concept_document(campaign, 0, first.device, first.analyst, rule.first)
    rounds: dict[str, Any] = {
        "rounds": list(range(len(rule.users))),
        "users": sum(rule.users),
        "users_by_round": list(rule.users),
        "warnings": [*of_class.warnings, *(f"the last round: {warning}" for warning in rule.warnings)],
    }
    if rule.interval is not None:
        low, high = rule.interval
        certified = f"{of_class.rule.text} has a loss from {low:.4f} to {high:.4f}"
        rounds |= {
            "loss": rule.loss,
            "interval": rule.interval,
            "certified_by_round": rule.certified_by_round,
            "statement": f"{certified}; {of_class.statement}",
        }
    return of_class.model_copy(update=rounds)


def _name(known: ClassOfRules, rule: int) -> RuleName:
    """A rule as the document names it."""
    return RuleName(number=rule, text=known.text(rule), width=known.width(rule))


def _rules(estimate: ConceptEstimate, name: Callable[[int], RuleName], order: Iterable[int]) -> Iterator[RuleLoss]:
    best = set(estimate.best.tolist())
    for rule in order:
        loss, error = float(estimate.losses[rule]), float(estimate.standard_errors[rule])
        band = _band(estimate, rule)
        yield RuleLoss(rule=name(rule), loss=loss, standard_error=error, band=band, may_be_best=rule in best)


def _band(estimate: ConceptEstimate, rule: int) -> tuple[float, float]:
    return float(estimate.band_low[rule]), float(estimate.band_high[rule])


def _class(known: ClassOfRules, rules: int) -> BooleanRules | OrderedRules:
    if isinstance(known, ConceptClass):
        return BooleanRules(**asdict(known.queries), literals=list(known.literals))
    every = range(rules) if rules <= _MOST_IN_FULL else None
    texts = None if every is None else [known.text(rule) for rule in every]
    widths = None if every is None else [known.width(rule) for rule in every]
    return OrderedRules(**asdict(known.queries), texts=texts, widths=widths)


def _in_full(estimate: ConceptEstimate) -> AllLosses:
    reach = estimate.band_high - estimate.losses
    return AllLosses(
        loss=_rounded(estimate.losses),
        standard_error=_rounded(estimate.standard_errors),
        band_reach=_rounded(reach),
        may_be_best=np.isin(np.arange(len(reach)), estimate.best).tolist(),
    )


def _rounded(numbers: Floats) -> list[float]:
    return [float(f"{number:.{_DIGITS}g}") for number in numbers.tolist()]
