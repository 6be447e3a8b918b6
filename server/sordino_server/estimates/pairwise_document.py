"""The document of an estimate of a statistic: the answer, how sure it is, and every round that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound
from sordino_server.estimates.participation import participation_warnings
from sordino_server.estimates.schemas import FormEstimate, PairwiseDocument, PlanDigests, ProtocolName, RoundTaken
from sordino_shared.protocol import DrawOneRound, Manifest


def statistic_document(
    manifest: Manifest, plan: ProtocolPlan, closed: Sequence[ClosedRound], estimate: PairwiseEstimate
) -> PairwiseDocument:
    """The document of an estimate from the `closed` rounds of the campaign of `manifest`."""
    taken = _rounds_taken(plan, closed)
    return PairwiseDocument(
        campaign=str(manifest.campaign),
        protocol=ProtocolName(name=plan.protocol, digest=str(plan.digest)),
        rounds=taken,
        users=_users(manifest, taken),
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


def _users(manifest: Manifest, taken: Sequence[RoundTaken]) -> int:
    """Each device answers the one round that it drew, or every round."""
    counted = [each.users for each in taken]
    return sum(counted) if isinstance(manifest.assignment, DrawOneRound) else counted[-1]


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
