"""The estimate of a statistic as a document: the answer, how sure it is, and every round that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.pairwise.protocol import ClosedRound
from sordino_analysis.pairwise.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_server.estimates.document import Interval, PlanDigests, canonical_bytes
from sordino_server.estimates.participation import participation_warnings
from sordino_shared.protocol import Manifest


class FormEstimate(BaseModel):
    """One quadratic form that the statistic is made of."""

    name: str
    value: float


class ProtocolName(BaseModel):
    """The protocol and the digest of its plan, which the manifest pinned before the first report."""

    name: str
    digest: str


class RoundTaken(BaseModel):
    """A round that the estimate came from, and who took part."""

    index: int
    plan: PlanDigests
    epsilon: float
    users: int
    expected_users: float = Field(description="Reports of the round that the protocol was planned for.")


class PairwiseDocument(BaseModel):
    """The answer of a campaign that asks for a statistic; it never changes."""

    campaign: str = Field(description="Digest of the manifest.")
    protocol: ProtocolName
    rounds: list[RoundTaken]
    statistic: str
    value: float | None = Field(
        description="Null where the statistic divides by what may be zero: there may be none, and the interval is all."
    )
    target: Literal["pairs", "histogram"] = Field(
        description="The mean over pairs of different users, or the quadratic form of the histogram."
    )
    standard_error: float | None = Field(
        description="For the statistic of the users who reported; null with the value."
    )
    interval: Interval = Field(description="Holds that statistic with about the stated level.")
    population_standard_error: float | None = Field(
        description="For the statistic of the population the users came from; null with the value."
    )
    population_interval: Interval = Field(description="Holds the population's statistic with about the stated level.")
    level: float
    validity: Literal["asymptotic", "doubtful"] = Field(
        description="Intervals are those of the law for many users; doubtful where few reports make up the error."
    )
    bias_bound: float | None = Field(
        description="What no bias exceeds, by which intervals are wider; null where the estimator is only consistent."
    )
    unbiased: bool = Field(description="Whether the estimator is unbiased for any number of users, or only consistent.")
    forms: list[FormEstimate]
    clipped: str | None = Field(description="What was clipped, in words; null if nothing was.")
    epsilon: float = Field(description="What one device may spend in all rounds.")
    predicted_rmse: float = Field(description="Error that was predicted at launch for the number of users expected.")
    warnings: list[str]

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)


def statistic_document(
    manifest: Manifest, plan: ProtocolPlan, closed: Sequence[ClosedRound], estimate: PairwiseEstimate
) -> PairwiseDocument:
    """The document of an estimate from the `closed` rounds of the campaign of `manifest`."""
    taken = _rounds_taken(plan, closed)
    return PairwiseDocument(
        campaign=str(manifest.campaign),
        protocol=ProtocolName(name=plan.protocol, digest=str(plan.digest)),
        rounds=taken,
        statistic=str(plan.statistic["name"]),
        value=estimate.value,
        target=plan.target,
        standard_error=estimate.standard_error,
        interval=(estimate.lower, estimate.upper),
        population_standard_error=estimate.population_standard_error,
        population_interval=(estimate.population_lower, estimate.population_upper),
        level=estimate.level,
        validity="doubtful" if estimate.doubts else "asymptotic",
        bias_bound=estimate.bias_bound,
        unbiased=estimate.unbiased,
        forms=[FormEstimate(name=name, value=value) for name, value in estimate.forms],
        clipped=estimate.clipped,
        epsilon=manifest.device_guarantee.epsilon,
        predicted_rmse=plan.predicted_rmse,
        warnings=[
            *plan.notes,
            *estimate.doubts,
            *estimate.warnings,
            *participation_warnings(plan.first_share, [each.users for each in taken]),
        ],
    )


def _rounds_taken(plan: ProtocolPlan, closed: Sequence[ClosedRound]) -> list[RoundTaken]:
    shares = (1.0, 1.0) if plan.first_share is None else (plan.first_share, 1 - plan.first_share)
    return [
        RoundTaken(
            index=index,
            plan=PlanDigests(device=str(each.plan.device.digest), analyst=str(each.plan.analyst.digest)),
            epsilon=each.plan.device.guarantee.epsilon,
            users=each.aggregate.count,
            expected_users=plan.users * shares[min(index, 1)],
        )
        for index, each in enumerate(closed)
    ]
