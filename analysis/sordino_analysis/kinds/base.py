"""What every kind of question offers. Server, command line and notebooks use kinds through it and name none.

Modules of kinds are imported wherever estimates are read, also by processes that answer requests: what needs solvers or
estimators is imported inside the methods that call it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.answers.findings import Findings
from sordino_analysis.answers.headline import Headline, headline_of
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest

if TYPE_CHECKING:
    from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
    from sordino_analysis.experiments.power import PlannedNoise
    from sordino_analysis.planning.finished_plan import FinishedPlan
    from sordino_analysis.planning.planning_request import PlanningRequest
    from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
    from sordino_analysis.planning.sample_size import NeededUsers, Statement

    Planned = Callable[[PlanningRequest], FinishedPlan]


class RequestClass(Protocol):
    """The class of a kind's planning requests."""

    @property
    def unused(self) -> Sequence[str]:
        """The options of planning that the kind has no use for."""

    def of(self, specification: Any, options: PlanningOptions) -> PlanningRequest:
        """The request of a question that was read; raises InvalidValue where the options do not fit it."""

    def check(self, options: PlanningOptions, queries: int) -> None:
        """Raise InvalidValue where the options do not fit a question with so many queries."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedUsers:
    """Who answered a simulated campaign: one value each, over the campaign's domain.

    `asked` is the question that was planned, `protocol` the plan of the campaign's protocol, if it has one.
    """

    asked: Any
    domain: Domain
    values: Sequence[object]
    protocol: AnyProtocolPlan | None

    @property
    def codes(self) -> NDArray[np.uint64]:
        """(n, attributes) the members that the users hold."""
        return codes_many(self.domain, self.values)


class KindOfAnswers:
    """One kind of documents of answers, which readers need no estimator for; its `name` is their discriminator.

    `row` is what a row of the table is called. Documents have `extras`, and `terms` besides those of all kinds. A
    terminal gets `printed` rows, or all of them, and the texts of `parts`, or of all columns that are filled. Tables
    that go on in time have the `oldest_first`, and pages turn them round.
    """

    name: ClassVar[str]
    extras: ClassVar[type[Extras]]
    terms: ClassVar[tuple[str, ...]] = ()
    common_terms: ClassVar[tuple[str, ...]] = ("epsilon", "level", "mechanism")
    row: ClassVar[str] = "query"
    printed: ClassVar[int | None] = None
    parts: ClassVar[tuple[str, ...]] = ()
    oldest_first: ClassVar[bool] = False

    def shown(self, estimate: EstimateDocument) -> Sequence[int]:
        """The rows of the table in the order in which readers look for them."""
        return range(len(estimate.table))

    def readable(self, estimate: EstimateDocument, rows: Sequence[int]) -> ShownAnswers:
        """Some rows of the table as texts."""
        shown = shown_answers(estimate.table, self.row, rows=rows, parts=self.parts)
        return replace(shown, notes=(*shown.notes, *self.notes(estimate)))

    def tables(self, estimate: EstimateDocument, most: int | None) -> Sequence[ShownAnswers]:
        """What readers see of the answers, at most so many of them where the kind lists them; notes are below the last.

        `most` None lists all.
        """
        return (self.readable(estimate, list(islice(self.shown(estimate), most))),)

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        """What is sure, in sentences above the table."""
        return ()

    def finding(self, estimate: EstimateDocument) -> Findings | None:
        """The same in parts: what is found first, and what cannot be told. None where there is no sentence."""
        said = tuple(self.statements(estimate))
        return Findings(headline=said[0], others=said[1:]) if said else None

    def headline(self, estimate: EstimateDocument) -> Headline:
        """What lists show of the estimate."""
        return headline_of(estimate.table, self.finding(estimate))

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """What the answers come from, in lines below the table, without the warnings."""
        return ()

    def caption(self, estimate: EstimateDocument, users: str) -> str:
        """The line below the title of a picture; `users` says how many there are."""
        return f"{users}, ε = {chosen(estimate.epsilon)}"

    def base(self, estimate: EstimateDocument) -> tuple[str, float] | None:
        """What a chart compares the answers with: a name and a number."""
        return None


class KindOfQuestion(KindOfAnswers, ABC):
    """One kind of question; its `name` is the discriminator of workloads and campaigns, too.

    `field` is the field of a workload that only this kind has, or a few kinds that `recognises` tells apart; `form` is
    the model that reads the workload. Estimates have a band that holds all answers at once, unless `has_band` is false.
    Closed rounds of a kind that `takes_questions` are asked for more with `sordino campaigns answers`; campaigns of one
    that `compares_arms` may be experiments, and one that `reads_reports` counts in the reports of a round themselves.
    In a series a kind that `remembers_periods` estimates them in order, each from the one before, too.
    `why_unused` is said of options that plans of the kind do not use, `why_users` where a plan needs a number of users.
    """

    common_terms = ("campaign_id", "users", "epsilon", "level", "bias_bound", "target", "validity", "mechanism")
    field: ClassVar[str]
    form: ClassVar[type[Any]]
    takes_questions: ClassVar[bool] = False
    compares_arms: ClassVar[bool] = False
    reads_reports: ClassVar[bool] = False
    remembers_periods: ClassVar[bool] = False
    has_band: ClassVar[bool] = True
    why_unused: ClassVar[str]
    why_users: ClassVar[str | None] = None

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether a workload, as it is written, asks a question of this kind; it has the field."""
        return self.field in document

    @abstractmethod
    def parse(self, document: Mapping[str, Any]) -> WrittenQuestion:
        """Read a workload strictly; raises WorkloadError with the place of everything that does not fit."""

    @abstractmethod
    def request_class(self) -> RequestClass:
        """What plans the question."""

    def needed_users(
        self, question: Any, statement: Statement, options: PlanningOptions, planned: Planned
    ) -> NeededUsers:
        """Users that a statement about the answers needs, by the plan that `planned` makes of a request.

        Raises InvalidValue for a kind that does not say.
        """
        raise InvalidValue(f"numbers of users are not known for questions of kind {self.name}", question)

    def noise_of_arms(self, question: Any, options: PlanningOptions, planned: Planned) -> PlannedNoise:
        """What one report adds to a difference of arms; raises InvalidValue for a kind without linear queries."""
        raise InvalidValue("arms are compared by linear queries: shares, means and ranges", question)

    def scale_and_unit(self, question: Any) -> tuple[float, str] | None:
        """Of the answers, where all are numbers of one scale and unit."""
        return None

    @abstractmethod
    def held_domain(self, question: Any) -> Domain:
        """The attributes whose values devices hold, of which the question's own may be made."""

    @abstractmethod
    def follow(
        self, manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
    ) -> RoundPlan | EstimateDocument:
        """The plan of the next round after `closed`, or the estimate; with `conclude` the estimate in any case.

        `plan` is that of the protocol which the manifest names. Raises EstimationError or InvalidValue where the
        reports allow neither.
        """

    def predicted_error(self, estimate: EstimateDocument) -> float | None:
        """The root mean squared error that the plan predicted at this number of users; None where it predicts none."""
        return None

    def asked_of_reports(self, question: Any, values: Sequence[object]) -> Sequence[str]:
        """Cells that a simulation asks for where the estimate lists none of the answers; none where it does.

        `values` are those of the devices. Raises InvalidValue where nothing can be compared.
        """
        return ()

    @abstractmethod
    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        """The true answer of each row of the estimate's table."""

    def judged(self, estimate: EstimateDocument, compared: TruthComparison) -> JudgedEstimate:
        """What is said of the estimate beside the truth, apart from errors, intervals and band."""
        return JudgedEstimate()


def digests_of(plan: RoundPlan) -> dict[str, str]:
    """The terms that name the plan of a round."""
    return {"plan_device": str(plan.device.digest), "plan_analyst": str(plan.analyst.digest)}
