"""Concept classes: which rule of a class predicts a label best, from one round or from three."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.figures import SHARE, amount, span
from sordino_analysis.kinds.base import SimulatedUsers
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.kinds.queries_kind import QueriesKind
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.specification import form_of_queries
from sordino_shared.protocol import Manifest
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.planning.rounds import ClosedRound, RoundPlan

# Rules that a document lists; the table has all.
MOST_LISTED = 1000
_CONSTANTS = ("never", "always")
Interval = tuple[float, float]


class RuleName(BaseModel):
    """A rule of the class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(description="Its place in the class, from 0.")
    text: str
    width: int = Field(description="How many attributes it looks at.")


class BestRules(BaseModel):
    """The rules that may be the best: the best one is among them with the stated level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    rules: tuple[RuleName, ...] = Field(description="By estimated loss, at most 1000.")
    truncated: bool


class BaseRule(BaseModel):
    """The better of saying never and saying always."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: RuleName
    loss: float
    band: Interval


class ConceptExtras(Extras):
    """What is sure of the class although the same reports chose the rule."""

    workload: str
    rule: RuleName = Field(description="The rule with the least estimated loss, or that three rounds chose.")
    loss: float = Field(description="Of the chosen rule, from the round that certifies it, else from round 0.")
    band: Interval = Field(description="Of the chosen rule: the band of the class, since these reports chose it.")
    interval: Interval | None = Field(
        description="Ordinary interval of the chosen rule, from a round designed after it was chosen; else null."
    )
    certified_by_round: int | None = Field(description="The round that `interval` comes from.")
    base: BaseRule
    excess_at_most: float = Field(description="The chosen rule's loss exceeds the least of the class by no more.")
    beats_base: bool = Field(description="Whether no constant rule may be the best.")
    statement: str
    confidence_set: BestRules


class ConceptsKind(QueriesKind):
    """The losses of a class of rules; of three rounds the last one certifies the rule that is left."""

    name = "concepts"
    extras = ConceptExtras
    row = "rule"
    # Rules that a terminal shows.
    printed = 10
    why_unused = "they apply to pairwise statistics; the losses of rules are linear queries"
    terms = ("users_by_round", "compared", "plan_device", "plan_analyst")

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether the queries are those of a class, each rule with a loss of its own."""
        return "queries" in document and form_of_queries(document["queries"]) == "class"

    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> RoundPlan | EstimateDocument:
        """The estimate of the one round, or what three rounds make of each other."""
        from sordino_analysis.kinds.concept_rounds import after

        return after(manifest, plan, closed, conclude=conclude)

    def shown(self, estimate: EstimateDocument) -> Sequence[int]:
        """The rules by estimated loss."""
        losses = estimate.table.numbers("value")
        return sorted(range(len(losses)), key=losses.__getitem__)

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """What is sure first: the statement, the chosen rule and the constants."""
        of, level = estimate.extras, percent(estimate.table.level)
        assert isinstance(of, ConceptExtras)
        in_rounds = len(str(estimate.terms["users_by_round"]).split()) > 1
        chosen = "chosen by the rounds" if in_rounds else "least estimated loss"
        base = of.base
        lines = [
            f"{of.statement} ({level})",
            f"{chosen}: {of.rule.text}, {amount(of.loss, SHARE)}, band {span(of.band, SHARE)}",
            f"better constant: {base.rule.text}, {amount(base.loss, SHARE)}, band {span(base.band, SHARE)}",
            f"the rule exceeds the least of {estimate.terms['compared']:,} losses by at most "
            f"{amount(of.excess_at_most, SHARE)}",
            f"{quantity(of.confidence_set.size, 'rule')} may be the best",
        ]
        bias = estimate.terms["bias_bound"]
        if isinstance(bias, float) and bias > 0:
            lines.append(f"losses have a bias of at most {amount(bias, SHARE)}: band, set and excess allow for it")
        if of.interval is not None:
            lines.insert(
                2, f"{level} interval of its loss from round {of.certified_by_round}: {span(of.interval, SHARE)}"
            )
        return lines

    def base(self, estimate: EstimateDocument) -> tuple[str, float]:
        """The better constant."""
        assert isinstance(estimate.extras, ConceptExtras)
        return estimate.extras.base.rule.text, estimate.extras.base.loss

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """The losses among the users."""
        workload = users.asked.build()
        losses = dict(zip(workload.labels(), workload.truth_of_codes(users.codes).tolist(), strict=True))
        return [losses[label] for label in estimate.table.cells("label")]

    def judged(self, estimate: EstimateDocument, compared: TruthComparison) -> JudgedEstimate:
        """Whether a best rule is among those that may be the best, and a constant is beaten only if it is."""
        of = estimate.extras
        assert isinstance(of, ConceptExtras)
        truth = dict(zip(compared.labels, compared.truth.tolist(), strict=True))
        best = min(truth, key=lambda rule: truth[rule])
        least, chosen = truth[best], truth[of.rule.text]
        listed = any(truth.get(rule.text) == least for rule in of.confidence_set.rules)
        beaten = min(truth.get(constant, math.inf) for constant in _CONSTANTS) > least
        holds = (listed or of.confidence_set.truncated) and (beaten or not of.beats_base)
        inside = None if of.interval is None else of.interval[0] <= chosen <= of.interval[1]
        verdict = "agrees with the truth" if holds else "is WRONG"
        lines = [
            f"the statement {verdict}: the best rule is {best}, {amount(least, SHARE)}; the chosen one exceeds it by "
            f"{amount(chosen - least, SHARE)}"
        ]
        if inside is not None:
            place = "inside" if inside else "outside"
            lines.append(f"the chosen rule's true loss, {amount(chosen, SHARE)}, is {place} its interval")
        fields = {
            "true_loss": chosen,
            "best_rule": best,
            "least_loss": least,
            "excess": chosen - least,
            "statement_holds": holds,
            "interval_holds": inside,
        }
        return JudgedEstimate(fields, lines, holds)
