"""The estimate of a concept class as a document, from one round, or from as many of three as there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument, ends
from sordino_analysis.arrays import Floats
from sordino_analysis.documents.elimination_plan import EliminationPlan
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_analysis.elimination.three_rounds import CertifiedRule, ThreeRounds
from sordino_analysis.estimation.concepts import ClassOfRules, ConceptEstimate, ConceptEstimator
from sordino_analysis.figures import SHARE, span
from sordino_analysis.kinds.base import digests_of
from sordino_analysis.kinds.concepts import MOST_LISTED, BaseRule, BestRules, ConceptExtras, Interval, RuleName
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_shared.protocol import Manifest

# A document of so many rules is ten megabytes.
_MOST_IN_FULL = 1 << 17
# Digits of a number in a document.
_DIGITS = 6


def after(
    manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
) -> RoundPlan | EstimateDocument:
    """The plan of the next round, or what is sure of the rule that the rounds chose; raises as `follow`."""
    campaign = str(manifest.campaign)
    if plan is None:
        only = closed[-1]
        best = ConceptEstimator.of(only.plan.device, only.plan.analyst).estimate(only.aggregate)
        return concept_document(campaign, only.plan, best)
    assert isinstance(plan, EliminationPlan)
    rounds = ThreeRounds(plan.shares)
    outcome = rounds.conclude(closed) if conclude else rounds.step(closed)
    return outcome if isinstance(outcome, RoundPlan) else certified_document(campaign, closed[0].plan, outcome)


def concept_document(campaign: str, plan: RoundPlan, estimate: ConceptEstimate, **changes: Any) -> EstimateDocument:
    """The document of one round's estimate: all rules by number, or those with the least losses of too many.

    `changes` are of terms and of extras, by what later rounds say.
    """
    order = estimate.losses.argsort(kind="stable")[:MOST_LISTED].tolist()
    in_full = len(estimate.losses) <= _MOST_IN_FULL
    users = changes.pop("users_by_round", (estimate.users,))
    extras = _extras(plan.analyst.workload, estimate)
    return EstimateDocument.of_rows(
        "concepts",
        list(_rules(estimate, range(len(estimate.losses)) if in_full else order)),
        extras.model_copy(update=changes),
        campaign_id=campaign,
        users=sum(users),
        users_by_round=" ".join(map(str, users)),
        compared=len(estimate.losses),
        epsilon=plan.device.guarantee.epsilon,
        level=estimate.level,
        bias_bound=estimate.bias_bound,
        target="population",
        validity="worst_case",
        mechanism=plan.analyst.mechanism,
        **digests_of(plan),
    )


def certified_document(campaign: str, first: RoundPlan, rule: CertifiedRule) -> EstimateDocument:
    """The document of three rounds, or of those that there were; `first` is the plan of round 0."""
    of_last = tuple(f"the last round: {warning}" for warning in rule.warnings)
    changes: dict[str, Any] = {"users_by_round": rule.users, "warnings": (*rule.first.warnings, *of_last)}
    if rule.interval is not None:
        low, high = rule.interval
        chosen = rule.first.known.text(rule.first.chosen)
        changes |= {
            "loss": rule.loss,
            "interval": rule.interval,
            "certified_by_round": rule.certified_by_round,
            "statement": f"{chosen} has a loss of {span((low, high), SHARE)}; {rule.first.statement}",
        }
    return concept_document(campaign, first, rule.first, **changes)


def _extras(workload: str, estimate: ConceptEstimate) -> ConceptExtras:
    name, best = partial(_name, estimate.known), estimate.best.tolist()
    return ConceptExtras(
        workload=workload,
        rule=name(estimate.chosen),
        loss=float(estimate.losses[estimate.chosen]),
        band=_band(estimate, estimate.chosen),
        interval=None,
        certified_by_round=None,
        base=BaseRule(
            rule=name(estimate.base), loss=float(estimate.losses[estimate.base]), band=_band(estimate, estimate.base)
        ),
        excess_at_most=estimate.excess,
        beats_base=estimate.beats_base,
        statement=estimate.statement,
        confidence_set=BestRules(
            size=len(best), rules=tuple(map(name, best[:MOST_LISTED])), truncated=len(best) > MOST_LISTED
        ),
        warnings=estimate.warnings,
    )


def _name(known: ClassOfRules, rule: int) -> RuleName:
    return RuleName(number=rule, text=known.text(rule), width=known.width(rule))


def _band(estimate: ConceptEstimate, rule: int) -> Interval:
    return float(estimate.band_low[rule]), float(estimate.band_high[rule])


def _rules(estimate: ConceptEstimate, numbers: Sequence[int]) -> Iterator[dict[str, Cell]]:
    """No rule has an interval of its own, since the same reports chose among them."""
    best = set(estimate.best.tolist())
    losses, errors = _rounded(estimate.losses), _rounded(estimate.standard_errors)
    low, high = _rounded(estimate.band_low), _rounded(estimate.band_high)
    for rule in numbers:
        yield {
            "kind": "concept",
            "label": estimate.known.text(rule),
            "width": estimate.known.width(rule),
            "value": losses[rule],
            "population_standard_error": errors[rule],
            **ends("band_", (low[rule], high[rule])),
            "may_be_best": rule in best,
        }


def _rounded(numbers: Floats) -> list[float]:
    return [float(f"{number:.{_DIGITS}g}") for number in numbers.tolist()]
