"""Answers on demand as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.on_demand import QuestionKind
from sordino_server.estimates.schemas import Interval, PlanDigests, canonical_bytes, ends, joined

AnswersKind = QuestionKind | Literal["rule"]
Span = tuple[int | float | None, int | float | None]

_INTERVAL = "Contains the reporters' answer with the stated level, if the question was fixed before anybody looked."
_BAND = "The bands of all `compared` questions of this kind together contain all answers with the stated level."


class ShareOnDemand(BaseModel):
    """The share of the users that a question is about."""

    label: str
    unit: str = Field(default=SHARE, description="`share`: of the users.")
    value: float = Field(description="The answer: `uncut`, cut to [0, 1] as all ends are.")
    uncut: float = Field(description="The unbiased answer (up to the stated bias bound).")
    standard_error: float = Field(description="For the answer among the users who reported.")
    interval: Interval = Field(description=_INTERVAL)
    band: Interval = Field(description=_BAND)
    population_standard_error: float = Field(description="For the answer in the population the users came from.")
    population_interval: Interval = Field(description="Contains the population's answer with the stated level.")
    consistent: float | None = Field(
        description="The share in the nearest valid histogram, or for single items in the nearest shares of those that "
        "were asked together: biased. Null for grids on two attributes."
    )

    def cells(self) -> dict[str, Cell]:
        """Its row of a table."""
        return {
            "label": self.label,
            "unit": self.unit,
            "value": self.value,
            "uncut": self.uncut,
            "standard_error": self.standard_error,
            **ends("", self.interval),
            **ends("band_", self.band),
            "population_standard_error": self.population_standard_error,
            **ends("population_", self.population_interval),
            "consistent": self.consistent,
        }


class QuantileOnDemand(BaseModel):
    """The least member of an ordered attribute that a share of the users are at or below, in the attribute's unit.

    Pairs are low < x ≤ high, for integers low ≤ x ≤ high; null is an open end, or one beyond all numbers.
    """

    label: str
    unit: str = Field(description="Of the numbers; empty for an attribute without one.")
    bin: str = Field(description="The member in the nearest distribution that the interval holds, as text.")
    value: Span = Field(description="The ends of that member.")
    interval: Span = Field(description="From the first to the last member that may be it. " + _INTERVAL)
    band: Span = Field(description="The same for all quantiles at once; it contains the interval.")
    population_interval: Span = Field(description="The same for the population that the users came from.")
    beyond: bool = Field(description="Whether fewer users than the share have a number at all, as far as is estimated.")

    def cells(self) -> dict[str, Cell]:
        """Its row of a table."""
        return {
            "label": self.label,
            "member": self.bin,
            "value_lower": self.value[0],
            "value_upper": self.value[1],
            **ends("", self.interval),
            **ends("band_", self.band),
            **ends("population_", self.population_interval),
            "unit": self.unit or None,
            "beyond": self.beyond,
        }


class RuleOnAverage(BaseModel):
    """The share of users whom one known rule says yes to, on an assumption about their attributes."""

    label: str
    value: float = Field(description="The answer: `uncut`, cut to [0, 1] as the interval's ends are.")
    uncut: float
    standard_error: float = Field(description="For the population the users came from, on the assumption.")
    interval: Interval | None = Field(
        description="On the assumption, for a rule that was fixed before anybody looked; null at a p-value below .01."
    )
    p_value: float = Field(description="Of the test whether all indicators' means are as the assumption says.")
    validity: Literal["average_case"]
    sentence: str = Field(description="The assumption.")

    def cells(self) -> dict[str, Cell]:
        """Its row of a table."""
        return {
            "label": self.label,
            "unit": SHARE,
            "value": self.value,
            "uncut": self.uncut,
            "population_standard_error": self.standard_error,
            **ends("population_", self.interval),
            "p_value": self.p_value,
            "validity": self.validity,
            "sentence": self.sentence,
        }


class AnswerDocument(BaseModel):
    """Answers to questions of one kind about a closed campaign; they never change."""

    campaign: str = Field(description="Digest of the manifest.")
    plan: PlanDigests
    round: int = Field(description="Index of the round that the reports came from.")
    kind: AnswersKind
    users: int
    epsilon: float
    level: float
    target: Literal["reporters", "population"] = Field(description="The users that `value` and `interval` refer to.")
    compared: int = Field(description="Number of questions whose bands hold at once.")
    bias_bound: float | None = Field(
        description="Bound on the bias, included in intervals and bands; null for rules on average over databases, of "
        "which only the error on average is known."
    )
    warnings: list[str]
    answers: list[ShareOnDemand] | list[QuantileOnDemand] | list[RuleOnAverage]

    def table(self) -> AnswerTable:
        """A row for each answer."""
        return AnswerTable.of_rows(
            [{"kind": self.kind, **each.cells()} for each in self.answers],
            campaign_id=self.campaign,
            users=self.users,
            compared=self.compared,
            epsilon=self.epsilon,
            level=self.level,
            bias_bound=self.bias_bound,
            target=self.target,
            plan_device=self.plan.device,
            plan_analyst=self.plan.analyst,
            warnings=joined(self.warnings),
        )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)
