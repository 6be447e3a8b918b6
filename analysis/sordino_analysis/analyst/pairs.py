"""Pairwise statistics: plan a protocol of one to three rounds, and simulate all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.arguments import FLAG, FUNCTION, NONE, NUMBER, PATH, SEED, TEXT, instance, takes
from sordino_analysis.analyst.display import AnswersShown, Facts
from sordino_analysis.analyst.planning_calls import chosen_effort, planned, written_epsilon
from sordino_analysis.analyst.users import Values, codes_of
from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_answers
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.documents.protocol_plan import FormBound, ProtocolPlan
from sordino_analysis.figures import chosen, figure, ratio
from sordino_analysis.kinds.drawn_rounds import randomized
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.protocol_registry import step_protocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.finished_plan import Part, PartName
from sordino_analysis.planning.plan_folder import read_protocol, read_round, write_parts
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.pairwise import PairwiseSpecification, PairwiseStatistic, parse_statistic
from sordino_analysis.request_terms import Effort, Target
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_bits
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness


@dataclass(frozen=True, eq=False, repr=False)
class PairwisePlan(Facts):
    """A protocol for a pairwise statistic: `protocol` fixes all its rounds, `first` is the plan of round 0.

    Raises InvalidValue where the two are not of one plan, and GuaranteeNotMet where the integers of the first device
    part prove a larger ε than it claims.
    """

    protocol: ProtocolPlan
    first: RoundPlan

    def __post_init__(self) -> None:
        spends, claimed = self.protocol.round_guarantees()[0], self.first.device.guarantee
        if claimed > spends or self.statistic.domain != self.domain:
            raise InvalidValue(
                f"the parts are not those of the protocol's first round: give its domain and at most {spends}", claimed
            )
        check_guarantee(self.first.device)

    @property
    def statistic(self) -> PairwiseStatistic:
        """The statistic, over the bins that the plan has."""
        return parse_statistic(self.protocol.statistic).build()

    @property
    def domain(self) -> Domain:
        """What a user holds: attributes and their members, with the bins that the plan has."""
        return self.first.device.domain

    @property
    def epsilon(self) -> float:
        """ε of a device over all rounds that it answers."""
        return self.protocol.guarantee / 1e9

    @property
    def error(self) -> float:
        """The root mean squared error predicted at the planned number of users, over the reference histograms."""
        return self.protocol.predicted_rmse

    @property
    def bounds(self) -> tuple[FormBound, ...]:
        """A lower bound for each form of the statistic, with the plan's `ratio` to it; none in plans of before."""
        return self.protocol.bounds

    @takes(folder=PATH)
    def save(self, folder: Path | str) -> None:
        """Write `protocol.json`, `device.cbor` and `analyst.cbor` for `read_pairwise_plan`; raises OSError."""
        parts: dict[PartName, Part] = {"device": self.first.device, "analyst": self.first.analyst}
        write_parts(Path(folder), parts | {"protocol": self.protocol})

    def _facts(self) -> tuple[str, list[tuple[str, str]]]:
        title = f"Plan of {self.protocol.statistic['name']}: pairs of {self.protocol.users:,} users"
        rounds = ", ".join(str(guarantee) for guarantee in self.protocol.round_guarantees())
        return title, [
            ("privacy", f"ε = {chosen(self.epsilon)} for each device"),
            ("protocol", self.protocol.protocol),
            ("rounds", rounds),
            ("predicted error", figure(self.error, 3)),
            *((f"lower bound of {bound.form}", _of_bound(bound)) for bound in self.bounds),
        ]


def _of_bound(bound: FormBound) -> str:
    shown = f"users × variance ≥ {figure(bound.value)}"
    return shown if bound.ratio is None else f"{shown}, ratio {ratio(bound.ratio)}"


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseSimulation(AnswersShown):
    """The estimate from simulated reports of every round, and the statistic of the same users without noise."""

    plan: PairwisePlan
    estimate: PairwiseEstimate
    truth: float

    @property
    def error(self) -> float | None:
        """Answer minus truth; None where a denominator may be zero, so that there is an interval alone."""
        return None if self.estimate.value is None else self.estimate.value - self.truth

    @property
    def inside(self) -> bool:
        """Whether the interval holds the truth."""
        return self.estimate.lower <= self.truth <= self.estimate.upper

    @property
    def table(self) -> AnswerTable:
        """The answer under the names of docs/results.md, in one row."""
        found = self.estimate
        columns: dict[str, Sequence[Cell]] = {
            **cells_of_answers([found]),
            "kind": ["statistic"],
            "label": [str(self.plan.protocol.statistic["name"])],
            "truth": [self.truth],
            "error": [self.error],
            "inside": [self.inside],
        }
        return AnswerTable.of_columns(
            columns,
            # Each device answers every round, or draws one of two.
            users=found.users[-1] if self.plan.protocol.first_weight is None else sum(found.users),
            epsilon=self.plan.epsilon,
            level=found.level,
            mechanism=found.protocol,
            warnings=joined((*found.warnings, *found.doubts)),
        )

    def _shown(self) -> ShownAnswers:
        return shown_answers(self.table, "statistic")


@takes(
    statistic=instance(PairwiseSpecification, advice=", which pairwise_statistic makes (plan plans a Workload)"),
    epsilon=NUMBER | TEXT,
    progress=FLAG | FUNCTION,
    cache=PATH | NONE,
)
def plan_pairwise(
    statistic: PairwiseSpecification,
    epsilon: float | str | Decimal,
    users: int,
    *,
    protocol: str | None = None,
    target: Target = "pairs",
    seed: int = 0,
    effort: Effort | str = Effort.STANDARD,
    time_limit: float | None = None,
    progress: ProgressCallback | bool = False,
    cache: Path | str | None = None,
) -> PairwisePlan:
    """The protocol with the least predicted error for `users` devices that spend at most ε each in all rounds.

    `protocol` names the only one to consider. `target` is the mean over pairs of different users ("pairs") or hᵀWh of
    the histogram h ("histogram"). The search ends after `time_limit` seconds with the best so far. The rest is as
    for `plan`. Raises PairwiseError where no protocol applies, and InvalidValue for an ε outside [.001, 16].
    """
    options = PlanningOptions.of(
        epsilon=written_epsilon(epsilon),
        users=users,
        protocol=protocol,
        target=target,
        seed=seed,
        effort=chosen_effort(effort),
        time_limit=time_limit,
    )
    finished = planned(PairwiseRequest(statistic, options), progress, cache)
    assert isinstance(finished.protocol, ProtocolPlan)
    return PairwisePlan(finished.protocol, RoundPlan(finished.device, finished.analyst))


@takes(folder=PATH)
def read_pairwise_plan(folder: Path | str) -> PairwisePlan:
    """The plan in a folder that `PairwisePlan.save` or `sordino plan --output` wrote; ε is proved again.

    Raises ProtocolError for bytes that are not a plan, InvalidValue for parts of two plans, GuaranteeNotMet, and
    OSError.
    """
    return PairwisePlan(read_protocol(Path(folder)), read_round(Path(folder)))


@takes(plan=instance(PairwisePlan, advice=", which plan_pairwise makes"), seed=SEED, strict=FLAG)
def simulate_pairwise(plan: PairwisePlan, values: Values, *, seed: int, strict: bool = True) -> PairwiseSimulation:
    """Every user answers every round that the protocol assigns, through the real randomizers.

    `values`, `seed` and `strict` are as for `simulate`. Raises InvalidValue for a value that the domain does not list,
    and PairwiseError where the reports allow no answer.
    """
    codes = codes_of(plan.domain, values, strict=strict)
    randomness = SeededRandomness(seed)
    rounds = _assigned(plan.protocol, len(codes), randomness)
    closed: tuple[ClosedRound, ...] = ()
    following: RoundPlan | PairwiseEstimate = plan.first
    while isinstance(following, RoundPlan):
        answering = codes[rounds[len(closed)]]
        closed = (*closed, ClosedRound(following, randomized(following.device, answering, randomness)))
        following = step_protocol(plan.protocol, closed)
    cells = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), plan.domain.shape)
    return PairwiseSimulation(plan, following, _truth(plan, cells))


def _assigned(protocol: ProtocolPlan, users: int, randomness: Randomness) -> list[NDArray[np.bool_]]:
    """For each round the (n,) users who answer it: all, or those who drew it where each device answers one round."""
    if protocol.first_weight is None:
        return [np.ones(users, dtype=np.bool_)] * len(protocol.rounds)
    first = uniform_bits(randomness, 32, users) < np.uint64(protocol.first_weight)
    return [first, ~first]


def _truth(plan: PairwisePlan, cells: NDArray[np.int64]) -> float:
    statistic = plan.statistic
    counts = np.bincount(cells, minlength=statistic.size).astype(float)
    if len(cells) < 2:
        raise InvalidValue(f"a pairwise statistic needs at least two users, got {len(cells)}", len(cells))
    return (
        statistic.of_pairs(counts) if plan.protocol.target == "pairs" else statistic.of_histogram(counts / len(cells))
    )
