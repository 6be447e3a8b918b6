"""The estimate of a concept class as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.queries import ConceptQueries
from sordino_analysis.questions.linear.concepts.losses import ConceptClass
from sordino_server.estimates.schemas import Interval, PlanDigests, SourceReports, canonical_bytes, ends, joined

MOST_LISTED = 1000


class RuleName(BaseModel):
    """A rule of the class."""

    number: int = Field(description="Its place in the class, from 0.")
    text: str
    width: int = Field(description="How many attributes it looks at.")


class RuleLoss(BaseModel):
    """A rule with its estimated loss."""

    rule: RuleName
    loss: float
    standard_error: float = Field(description="For the loss in the population the reporters came from.")
    band: Interval = Field(description="The bands of all rules together contain all losses with the stated level.")
    may_be_best: bool = Field(description="Whether the rule is in the set of best rules.")

    def cells(self) -> dict[str, Cell]:
        """Its row of a table; no rule has an interval of its own, since the same reports chose among them."""
        return {
            "kind": "concept",
            "label": self.rule.text,
            "width": self.rule.width,
            "value": self.loss,
            "population_standard_error": self.standard_error,
            **ends("band_", self.band),
            "may_be_best": self.may_be_best,
        }


class BestRules(BaseModel):
    """The rules that may be the best: the best one is among them with the stated level."""

    size: int
    rules: list[RuleName] = Field(description="By estimated loss, at most 1000.")
    truncated: bool


class BaseRule(BaseModel):
    """The better of saying never and saying always."""

    rule: RuleName
    loss: float
    band: Interval


class BooleanRules(BaseModel):
    """What the rules are, as the plan publishes it, with the texts of each attribute that is off and that is on."""

    family: str
    width: int
    exactly: bool
    negations: bool
    changes: int | None
    positive: int
    miss: float
    false_alarm: float
    bias_allowed: bool
    literals: list[tuple[str, str]]

    def names(self, rules: int) -> Iterator[RuleName]:
        """The first rules by number."""
        known = ConceptClass(tuple(self.literals), ConceptQueries(**self.model_dump(exclude={"literals"})))
        for number in range(rules):
            yield RuleName(number=number, text=known.text(number), width=known.width(number))


class OrderedRules(BaseModel):
    """Thresholds, intervals or boxes: the texts of all rules, and how many attributes each looks at, by number.

    Both are null in the document where there are more than 131,072.
    """

    family: str
    positive: int
    miss: float
    false_alarm: float
    bias_allowed: bool
    texts: list[str] | None
    widths: list[int] | None

    def names(self, rules: int) -> Iterator[RuleName]:
        """The first rules by number."""
        for number, text, width in zip(range(rules), self.texts or (), self.widths or (), strict=True):
            yield RuleName(number=number, text=text, width=width)


class AllLosses(BaseModel):
    """Every rule of the class, by number; null in the document where there are more than 131,072."""

    loss: list[float]
    standard_error: list[float]
    band_reach: list[float]
    may_be_best: list[bool]


class ConceptDocument(BaseModel):
    """Which rule of a class predicts the label best; it never changes."""

    kind: Literal["concepts"] = "concepts"
    campaign: str = Field(description="Digest of the manifest.")
    plan: PlanDigests
    rounds: list[int]
    workload: str
    mechanism: str
    rule: RuleName = Field(description="The rule with the least estimated loss, or that three rounds chose.")
    loss: float = Field(description="Of the chosen rule, from the round that certifies it, else from round 0.")
    band: Interval = Field(description="Of the chosen rule: the band of the class, since these reports chose it.")
    interval: Interval | None = Field(
        description="Ordinary interval of the chosen rule, from a round designed after it was chosen; else null."
    )
    certified_by_round: int | None = Field(description="The round that `interval` comes from.")
    base: BaseRule
    excess_at_most: float = Field(description="The chosen rule's loss exceeds the least of the class by no more.")
    bias_bound: float = Field(description="What an estimated loss is biased by at most; 0 unless bias is allowed.")
    beats_base: bool = Field(description="Whether no constant rule may be the best.")
    statement: str
    confidence_set: BestRules
    concepts: int
    rules: list[RuleLoss] = Field(description="By estimated loss, at most 1000; the CSV has all of them.")
    class_of_rules: BooleanRules | OrderedRules
    all_losses: AllLosses | None
    target: Literal["population"] = Field(description="The population that the reporters came from.")
    validity: Literal["worst_case"] = Field(description="Holds whatever the users' attributes are.")
    users: int = Field(description="Reports of all rounds.")
    users_by_round: list[int] = Field(description="All statements but `interval` are from the first of them.")
    epsilon: float
    level: float
    warnings: list[str]

    sources: list[SourceReports] = Field(
        default=[], description="Reports of each round that others added up, by source; empty for a campaign without."
    )

    def table(self) -> AnswerTable:
        """A row for each rule of the class, by number."""
        return AnswerTable.of_rows(
            [each.cells() for each in self.every_rule()],
            campaign_id=self.campaign,
            users=self.users,
            users_by_round=" ".join(str(users) for users in self.users_by_round),
            compared=self.concepts,
            epsilon=self.epsilon,
            level=self.level,
            bias_bound=self.bias_bound,
            target=self.target,
            validity=self.validity,
            mechanism=self.mechanism,
            plan_device=self.plan.device,
            plan_analyst=self.plan.analyst,
            warnings=joined(self.warnings),
        )

    def every_rule(self) -> Iterator[RuleLoss]:
        """All rules by number with figures of six digits, or the listed ones where the document has no others."""
        if self.all_losses is None:
            yield from self.rules
            return
        every = self.all_losses
        columns = zip(every.loss, every.standard_error, every.band_reach, every.may_be_best, strict=True)
        for name, (loss, error, reach, best) in zip(self.class_of_rules.names(len(every.loss)), columns, strict=True):
            yield RuleLoss(
                rule=name, loss=loss, standard_error=error, band=(loss - reach, loss + reach), may_be_best=best
            )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)
