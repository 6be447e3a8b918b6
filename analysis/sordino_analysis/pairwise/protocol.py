"""Interface of a protocol: from the closed rounds to the plan of the next round or to the estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import OneStepParameters, ProtocolPlan
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import RoundPlan, RoundsProtocol
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.pairwise import PairwiseStatistic, QuadraticForm
from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee


class PairwiseError(InvalidValue):
    """The protocol cannot continue, or the reports allow no answer; the message gives advice."""

    code = "pairwise-error"
    advice = "change what the message names; where reports are too few, ask more users"


def check_users(users: int) -> None:
    """Raise PairwiseError for fewer users than a pair takes."""
    if users < 2:
        raise PairwiseError(f"a pairwise statistic needs the number of users to expect, at least 2, got {users}", users)


@dataclass(frozen=True, eq=False)
class ProtocolRequest:
    """An estimate of `statistic` from the options' `users` devices, each spending `guarantee` in all rounds it answers.

    The options' `protocol` names the only one to consider, None compares all by predicted error. Iterative
    searches check `deadline`.
    """

    statistic: PairwiseStatistic
    options: PlanningOptions
    deadline: Deadline = field(default_factory=Deadline)

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)
        check_users(self.users)

    @property
    def guarantee(self) -> PureEpsilon:
        """What a device may spend in all rounds."""
        return self.options.guarantee

    @property
    def users(self) -> int:
        """How many devices are expected; 0 where the options do not say."""
        return self.options.users or 0

    @property
    def target(self) -> Target:
        """The mean over pairs of different users ("pairs", unless given) or hᵀWh ("histogram")."""
        return self.options.target or "pairs"

    def plan(
        self,
        protocol: str,
        rounds: tuple[int, ...],
        predicted_rmse: float,
        *,
        first_weight: int | None = None,
        parameters: OneStepParameters | None = None,
    ) -> ProtocolPlan:
        """What was asked with what a protocol decided, each field as ProtocolPlan has it."""
        return ProtocolPlan(
            statistic=self.statistic.specification,
            protocol=protocol,
            target=self.target,
            users=self.users,
            guarantee=self.guarantee.nano,
            rounds=rounds,
            first_weight=first_weight,
            seed=self.options.seed,
            predicted_rmse=predicted_rmse,
            parameters=parameters,
            notes=self.statistic.notes,
        )


@dataclass(frozen=True, eq=False)
class ProtocolDesign:
    """A protocol ready to launch: the plan of the whole, the plan of its first round, and its predicted error."""

    plan: ProtocolPlan
    first: RoundPlan


class PairwiseProtocol(RoundsProtocol[PairwiseEstimate], Protocol):
    """One way to estimate a pairwise statistic. Adding one is a file and a line in the registry."""

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply to the request, in words for a person, or None."""

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The plan of the protocol and of its first round; raises PairwiseError where there is none."""

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """The manipulation bound of every form of the statistic."""

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """The largest variance about n users' own value, for users drawn from one of the populations (P, k).

        With its standard error: 0 where it is exact, else that of the draws which predict it. None where it is unknown,
        and where `goes_on`, asked before each draw, says no.
        """
