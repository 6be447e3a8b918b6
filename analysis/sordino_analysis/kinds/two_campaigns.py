"""The answers of one campaign less those of another, from the reports of different devices."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.findings import findings
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.base import KindOfAnswers
from sordino_analysis.kinds.on_demand import unanswered
from sordino_shared.quantities import quantity


class ComparedCampaign(BaseModel):
    """One of two closed campaigns that are compared."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    campaign_id: str
    name: str = Field(description="As the columns `left` and `right` have it, which name an arm too, or the arm alone.")
    arm: str | None = Field(None, exclude_if=lambda value: value is None, description="The arm of an experiment.")
    users: int
    epsilon: float
    mechanism: str


class ComparisonExtras(Extras):
    """Answers of `right` less those of `left`, of the queries that both were asked; the document never changes.

    Use `lower` and `upper` for a query that was chosen before anybody looked. The band holds all `compared` queries at
    once and decides `verdict`; with `population` it is about the populations, which assumes different people.
    """

    left: ComparedCampaign
    right: ComparedCampaign
    population: bool
    decided: str | None = Field(
        None,
        exclude_if=lambda value: value is None,
        description="Of two arms: which row is that of the experiment's last look, whose rule decides it.",
    )


class ComparisonKind(KindOfAnswers):
    """A row for each query that both campaigns answer."""

    name = "comparison"
    extras = ComparisonExtras
    terms = ("users", "compared", "bias_bound")
    common_terms = ("level",)
    parts = ("answer", "std. error", "interval", "band", "lift", "verdict", "holds in")

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """Which answers differ, by the band."""
        return findings(estimate.table)

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """Who reported on either side, and for how much."""
        extras = estimate.extras
        assert isinstance(extras, ComparisonExtras)
        sides = [_described(side, each) for side, each in (("left", extras.left), ("right", extras.right))]
        return [*unanswered(estimate.table), *sides, *([] if extras.decided is None else [extras.decided])]

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """Whose answers are subtracted."""
        extras = estimate.extras
        assert isinstance(extras, ComparisonExtras)
        return f"{extras.right.name} less {extras.left.name}, {users}"


def _described(side: str, of: ComparedCampaign) -> str:
    name = of.name if of.arm is None else f"{of.name} {of.arm}"
    return f"{side}: {name}, {quantity(of.users, 'user')}, ε = {chosen(of.epsilon)}, mechanism {of.mechanism}"
