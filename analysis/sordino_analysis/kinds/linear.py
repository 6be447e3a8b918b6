"""Linear queries: shares and means of the users, from one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.findings import Findings, findings, told
from sordino_analysis.figures import amount, only_unit
from sordino_analysis.kinds.base import SimulatedUsers
from sordino_analysis.kinds.queries_kind import QueriesKind
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.specification import form_of_queries
from sordino_shared.protocol import Manifest
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.planning.rounds import ClosedRound


# Beyond it the best guess is hardly another one.
_WORTH_TELLING = 0.9
# The least that is told of it, see `BestGuess.relative_risk`.
_LEAST_TOLD = 0.25


class LinearExtras(Extras):
    """Of an estimate of linear queries: the plan's question, and the error that it predicts."""

    workload: str
    objective: Literal["max", "mean"]
    unbiased: bool
    predicted_rmse_max: float = Field(
        description="√(max_variance/users + bias_bound²): worst-case RMSE the plan predicts at this number of users; "
        "random reports of a shuffler are added."
    )
    best_error: float | None = Field(
        None,
        exclude_if=lambda value: value is None,
        description="Estimated squared error of the best guesses over all queries as a share of that of the unbiased "
        "answers, at least .25; absent where it was not estimated.",
    )
    blanket: int | None = Field(
        None, exclude_if=lambda value: value is None, description="Random reports of a shuffler, which were subtracted."
    )


class LinearKind(QueriesKind):
    """Linear queries, which one round answers."""

    name = "linear"
    extras: ClassVar[type[LinearExtras]] = LinearExtras
    takes_questions = True
    compares_arms = True
    why_unused = "they apply to pairwise statistics; this workload has linear queries"
    terms: ClassVar[tuple[str, ...]] = ("unlisted", "compared", "plan_device", "plan_analyst")

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether the queries are no losses of rules; a class on average over databases asks for single indicators."""
        return "queries" in document and form_of_queries(document["queries"]) not in ("class", "numbers", "strings")

    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> EstimateDocument:
        """The estimate of the last closed round."""
        from sordino_analysis.kinds.linear_document import estimated

        return estimated(manifest, closed[-1])

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """The largest share of a histogram, the steps beside a median."""
        return findings(estimate.table)

    def finding(self, estimate: EstimateDocument) -> Findings | None:
        """The same in parts."""
        return told(estimate.table)

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """The error that the plan predicts."""
        unit = only_unit(str(unit or "") for unit in estimate.table.cells("unit"))
        predicted = f"the plan predicts an error of {amount(self.predicted_error(estimate), unit)} at most"
        return (predicted, *self.guessed(estimate), *self.subtracted(estimate))

    def guessed(self, estimate: EstimateDocument) -> Sequence[str]:
        """What the best guesses leave of the squared error, as far as that is estimated and worth telling."""
        assert isinstance(estimate.extras, LinearExtras)
        left = estimate.extras.best_error
        if left is None or left > _WORTH_TELLING:
            return ()
        share = "less than a quarter" if left <= _LEAST_TOLD else f"about {percent(left)}"
        return (f"over all queries the best guesses are estimated to have {share} of the squared error of the answers",)

    def subtracted(self, estimate: EstimateDocument) -> Sequence[str]:
        """How many random reports of a shuffler were subtracted, if any were."""
        assert isinstance(estimate.extras, LinearExtras)
        blanket = estimate.extras.blanket
        return () if blanket is None else (f"{quantity(blanket, 'random report')} of a shuffler were subtracted",)

    def predicted_error(self, estimate: EstimateDocument) -> float:
        """Of the worst answer, at most."""
        assert isinstance(estimate.extras, LinearExtras)
        return estimate.extras.predicted_rmse_max

    def asked_of_reports(self, question: Any, values: Sequence[object]) -> Sequence[str]:
        """What most devices hold, of a histogram of which no item is listed."""
        from sordino_analysis.kinds.linear_truth import candidates, lists_items

        workload = question.build()
        return () if lists_items(workload) else candidates(workload.domain, values)

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """The answers of the users themselves."""
        from sordino_analysis.kinds.linear_truth import lists_items, shares_of, truth_of

        workload, labels = users.asked.build(), list(map(str, estimate.table.cells("label")))
        if not lists_items(workload):
            return shares_of(users.domain, users.values, labels)
        return truth_of(workload, users.domain, users.values, labels)
