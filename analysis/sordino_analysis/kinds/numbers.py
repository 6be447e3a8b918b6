"""Measures of numbers: means, sums and shares above a number, from one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.figures import amount
from sordino_analysis.kinds.base import SimulatedUsers
from sordino_analysis.kinds.linear import LinearExtras, LinearKind
from sordino_analysis.kinds.on_demand import unanswered
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.specification import form_of_queries
from sordino_shared.protocol import Manifest

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.planning.rounds import ClosedRound


class NumberRange(BaseModel):
    """The range of the numbers of an attribute: those outside count as the nearer end."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    attribute: str
    low: float
    high: float
    unit: str

    def __str__(self) -> str:
        low, high = (amount(end, self.unit, 0.0) for end in (self.low, self.high))
        return f"{self.attribute}: numbers below {low} count as {low}, numbers above {high} as {high}"


class NumberExtras(LinearExtras):
    """Of an estimate of measures of numbers: also the ranges that numbers are clipped to.

    Errors over `scale` are those over the range of what was asked.
    """

    scale: float
    rounding_bias: float = Field(
        description="By which rounding may move a variance, as a share of the squared range; intervals have it."
    )
    ranges: tuple[NumberRange, ...]


class NumbersKind(LinearKind):
    """Measures of numbers, which one round answers."""

    name = "numbers"
    extras = NumberExtras
    takes_questions = False
    terms = ("compared", "plan_device", "plan_analyst")
    why_unused = "they apply to pairwise statistics; this workload asks about numbers"

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether the queries name measures of attributes."""
        return "queries" in document and form_of_queries(document["queries"]) == "numbers"

    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> EstimateDocument:
        """The measures by the answers of the last closed round."""
        from sordino_analysis.kinds.numbers_document import estimated

        return estimated(manifest, closed[-1])

    def shown(self, estimate: EstimateDocument) -> Sequence[int]:
        """Rows as they were asked, and members that are asked for as the `top` from the most frequent one on."""
        table = estimate.table
        shares, about = np.nan_to_num(table.numbers("value")), list(map(str, table.bounds()))
        keys, order = list(zip(table.cells("kind"), about, strict=True)), list[int]()
        for (kind, _), alike in groupby(range(len(keys)), key=keys.__getitem__):
            rows = list(alike)
            order += sorted(rows, key=lambda row: -shares[row]) if kind == "top" else rows
        return order

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """Nothing: the measures say it themselves."""
        return ()

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """Which categories have no number, the error that the plan predicts, and where numbers are clipped."""
        extras = estimate.extras
        assert isinstance(extras, NumberExtras)
        error = self.predicted_error(estimate) / extras.scale
        predicted = f"the plan predicts an error of {percent(error, 2)} of the range at most"
        untold = "" if "clipped" in estimate.table.cells("kind") else " (`clipped` would tell how many)"
        ranges = [f"{each}{untold}" for each in extras.ranges]
        return (*unanswered(estimate.table), predicted, *self.subtracted(estimate), *ranges)

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """The measures of the numbers that the users hold, clipped as devices clip them."""
        from sordino_analysis.kinds.true_measures import measures_of, true_measures

        return true_measures(measures_of(users.asked.build()), users.codes)
