"""Pairwise statistics: one number about pairs of users, from the rounds of a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.figures import chosen, figure
from sordino_analysis.kinds.base import KindOfQuestion, RequestClass, SimulatedUsers
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import PairwiseSpecification, parse_statistic
from sordino_shared.domains import Domain
from sordino_shared.protocol import Manifest
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.kinds.base import Planned
    from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
    from sordino_analysis.planning.sample_size import NeededUsers, Statement


class FormEstimate(BaseModel):
    """One quadratic form that the statistic is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: float


class RoundTaken(BaseModel):
    """A round that the estimate came from, and who took part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    plan_device: str
    plan_analyst: str
    epsilon: float
    users: int
    expected_users: float = Field(description="Reports of the round that the protocol was planned for.")


class PairwiseExtras(Extras):
    """The rounds that the answer came from, and the forms that it is made of."""

    rounds: tuple[RoundTaken, ...]
    unbiased: bool = Field(description="Whether the estimator is unbiased for any number of users, or only consistent.")
    forms: tuple[FormEstimate, ...]
    clipped: str | None = Field(description="Description of what was clipped; null if nothing was.")
    predicted_rmse: float = Field(description="Error predicted before the campaign for the expected number of users.")


class PairwiseKind(KindOfQuestion):
    """A pairwise statistic; its plan compares protocols of one to three rounds."""

    name = "pairwise"
    field = "statistic"
    form = PairwiseSpecification
    extras = PairwiseExtras
    why_unused = "they apply to linear queries; this file holds a pairwise statistic"
    row = "statistic"
    has_band = False
    why_users = "a pairwise statistic needs --users: its protocol depends on the number of devices"
    terms = ("users_by_round", "protocol_digest")

    def parse(self, document: Mapping[str, Any]) -> PairwiseSpecification:
        """The statistic that is written."""
        return parse_statistic(document)

    def request_class(self) -> RequestClass:
        """The best protocol for the number of users."""
        from sordino_analysis.pairwise.pairwise_request import PairwiseRequest

        return PairwiseRequest

    def needed_users(
        self, question: Any, statement: Statement, options: PlanningOptions, planned: Planned
    ) -> NeededUsers:
        """Users by the error that protocols predict."""
        from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
        from sordino_analysis.pairwise.pairwise_sample_size import pairwise_sample_size

        request = PairwiseRequest(question, options.model_copy(update={"users": 2}))
        return pairwise_sample_size(request, statement, planned)

    def held_domain(self, question: Any) -> Domain:
        """The attributes of the statistic; any number of bins gives the same."""
        domain: Domain = (question if question.open_bins() is None else question.with_bins(2)).build().domain
        return domain

    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> RoundPlan | EstimateDocument:
        """What the protocol makes of the rounds."""
        from sordino_analysis.kinds.pairwise_document import after

        return after(manifest, plan, closed, conclude=conclude)

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """The rounds, and what was clipped."""
        of = estimate.extras
        assert isinstance(of, PairwiseExtras)
        lines = [f"target {estimate.terms['target']}, predicted error {figure(of.predicted_rmse)}"]
        lines += [
            f"round {each.index}: {quantity(each.users, 'report')} of {round(each.expected_users):,} expected, "
            f"ε = {chosen(each.epsilon)}"
            for each in of.rounds
        ]
        return lines if of.clipped is None else [*lines, f"clipped: {of.clipped}"]

    def predicted_error(self, estimate: EstimateDocument) -> float | None:
        """For the users that were expected."""
        assert isinstance(estimate.extras, PairwiseExtras)
        return estimate.extras.predicted_rmse

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """The statistic over the users, in the bins that the plan settled on."""
        from sordino_analysis.kinds.pairwise_document import truth_of

        return (truth_of(users),)

    def judged(self, estimate: EstimateDocument, compared: TruthComparison) -> JudgedEstimate:
        """Whether the interval holds the statistic in the bins of the plan."""
        (truth,), (inside,), error = compared.truth.tolist(), compared.inside.tolist(), compared.max_abs_error
        verdict = "inside the interval" if inside else "OUTSIDE the interval"
        said = "no value" if error is None else f"error {figure(error)}"
        line = f"truth in the same bins: {figure(truth)}, {verdict}; {said}"
        return JudgedEstimate({"truth": truth, "error": error, "inside": inside}, [line])
