"""The estimate of a pairwise statistic as a document, with every round that it came from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino_analysis.answers.document import EstimateDocument, ends
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_analysis.kinds.base import SimulatedUsers, digests_of
from sordino_analysis.kinds.pairwise import FormEstimate, PairwiseExtras, RoundTaken
from sordino_analysis.kinds.participation import participation_warnings
from sordino_analysis.pairwise.protocol_registry import conclude_protocol, step_protocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.vectorized.domains import encode_many
from sordino_shared.protocol import DrawOneRound, Manifest


def after(
    manifest: Manifest, plan: AnyProtocolPlan | None, closed: Sequence[ClosedRound], *, conclude: bool
) -> RoundPlan | EstimateDocument:
    """The plan of the next round, or the estimate; raises as `KindOfQuestion.follow`."""
    assert isinstance(plan, ProtocolPlan)
    outcome = (conclude_protocol if conclude else step_protocol)(plan, tuple(closed))
    return outcome if isinstance(outcome, RoundPlan) else statistic_document(manifest, plan, closed, outcome)


def statistic_document(
    manifest: Manifest, plan: ProtocolPlan, closed: Sequence[ClosedRound], estimate: PairwiseEstimate
) -> EstimateDocument:
    """The document of an estimate from the `closed` rounds of the campaign of `manifest`."""
    taken = _rounds_taken(plan, closed)
    counted = [each.users for each in taken]
    row = {
        "kind": "statistic",
        "label": str(plan.statistic["name"]),
        "value": None if estimate.value is None else float(estimate.value),
        "standard_error": None if estimate.standard_error is None else float(estimate.standard_error),
        **ends("", (estimate.lower, estimate.upper)),
        "population_standard_error": estimate.population_standard_error,
        **ends("population_", (estimate.population_lower, estimate.population_upper)),
    }
    return EstimateDocument.of_rows(
        "pairwise",
        [row],
        _extras(plan, taken, estimate),
        campaign_id=str(manifest.campaign),
        # Each device answers the one round that it drew, or every round.
        users=sum(counted) if isinstance(manifest.assignment, DrawOneRound) else counted[-1],
        users_by_round=" ".join(map(str, counted)),
        epsilon=manifest.device_guarantee.epsilon,
        level=estimate.level,
        bias_bound=estimate.bias_bound,
        target=plan.target,
        validity="doubtful" if estimate.doubts else "asymptotic",
        mechanism=plan.protocol,
        protocol_digest=str(plan.digest),
    )


def _extras(plan: ProtocolPlan, taken: Sequence[RoundTaken], estimate: PairwiseEstimate) -> PairwiseExtras:
    return PairwiseExtras(
        rounds=tuple(taken),
        unbiased=estimate.unbiased,
        forms=tuple(FormEstimate(name=name, value=value) for name, value in estimate.forms),
        clipped=estimate.clipped,
        predicted_rmse=plan.predicted_rmse,
        warnings=(
            *plan.notes,
            *estimate.doubts,
            *estimate.warnings,
            *participation_warnings(plan.first_share, [each.users for each in taken]),
        ),
    )


def _rounds_taken(plan: ProtocolPlan, closed: Sequence[ClosedRound]) -> list[RoundTaken]:
    shares = (1.0, 1.0) if plan.first_share is None else (plan.first_share, 1 - plan.first_share)
    return [
        RoundTaken(
            index=index,
            **digests_of(each.plan),
            epsilon=each.plan.device.guarantee.epsilon,
            users=each.aggregate.count,
            expected_users=plan.users * shares[min(index, 1)],
        )
        for index, each in enumerate(closed)
    ]


def truth_of(users: SimulatedUsers) -> float:
    """The statistic over the users, in the bins of the protocol's plan."""
    plan = users.protocol
    assert isinstance(plan, ProtocolPlan)
    statistic = parse_statistic(plan.statistic).build()
    cells = np.asarray(encode_many(statistic.domain, users.values))
    counts = np.bincount(cells, minlength=statistic.size).astype(float)
    return statistic.of_pairs(counts) if plan.target == "pairs" else statistic.of_histogram(counts / counts.sum())
