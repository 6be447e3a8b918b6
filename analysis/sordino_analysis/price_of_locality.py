"""The price of locality: users for one error and one privacy, where devices, a shuffler or a curator are trusted.

Local errors fall with the root of the users and a curator's with their number, so that its price grows as the error
shrinks. Shuffled reports lie between: a device spends a larger ε₀ and hides among the others, or, where these may all
be fake, among random reports that the shuffler adds.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sordino_analysis.curator.plan import plan_release
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.price_of_locality import PriceOfLocality, UsersUnderTrust
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.guarantees.approximate import DELTA, Approximate
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.guarantees.shuffled import honest_needed
from sordino_analysis.mechanisms.mechanism import MAX_DENSE_TYPES, SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.blankets import choose_blanket, closed_forms
from sordino_analysis.planning.comparison import Comparison, Contender
from sordino_analysis.planning.finished_plan import users_needed
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# Devices that hide among random reports spend at most this: nearly all of the gain, and ε₀ is what remains where the
# shuffler works with the collector.
LOCAL_EPSILON = 4.0
# Devices that hide among others spend one of these, or the ε of the local plan.
_LOCAL_EPSILONS = tuple(step / 4 for step in range(2, 33))
# Steps of the curator's search times k³: half a second.
_CURATOR_WORK, _CURATOR_STEPS = 2 * 10**8, 8


def price_of_locality(
    workload: Workload, summary: LinearSummary, target_error: float, delta: Fraction = DELTA
) -> PriceOfLocality:
    """Users for the target under ε of the local plan with this `summary`, and under (ε, δ) with more trust.

    Raises PlanError where the plan's bias alone exceeds the target, and InvalidValue for a δ outside [10⁻¹⁵, 1).
    """
    if summary.blanket is not None:
        raise PlanError(
            "the price of locality begins with a plan of devices that report to the server: plan without collector",
            summary,
        )
    local = users_needed(summary.answer_variance, summary.bias_bound, target_error)
    bound = Approximate(PureEpsilon.of(summary.epsilon).nano, delta)
    rows = (
        UsersUnderTrust(
            trust="local",
            against="the server",
            users=local,
            users_for_error=local,
            device_epsilon=summary.epsilon,
            mechanism=summary.mechanism,
        ),
        _shuffled(workload, summary, bound, target_error, local),
        _blanketed(workload, summary, bound, target_error, local),
        _curator(workload, summary, bound, target_error),
    )
    return PriceOfLocality(
        target_error=target_error,
        objective=summary.objective,
        epsilon=summary.epsilon,
        delta=float(delta),
        rows=rows,
    )


def _shuffled(
    workload: Workload, summary: LinearSummary, bound: Approximate, target: float, local: int
) -> UsersUnderTrust:
    """Of closed forms at the ε₀ at which error and privacy take about as many users; else as many as locally."""
    against = "anyone who sees only shuffled reports"
    epsilon = _device_epsilon(summary.epsilon, bound.delta, local)
    try:
        best = _best_closed_form(workload, summary, epsilon)
        variance = best.profile.largest_variance if summary.objective == "max" else best.profile.figures().mean_variance
        for_error = users_needed(variance, best.profile.figures().bias_bound, target)
        for_privacy = _hidden_among(best, bound)
    except InvalidValue as reason:
        return UsersUnderTrust(trust="shuffled", against=against, users=local, reason=f"as many as locally: {reason}")
    if max(for_error, for_privacy) >= local:
        return UsersUnderTrust(
            trust="shuffled",
            against=against,
            users=local,
            device_epsilon=summary.epsilon,
            mechanism=summary.mechanism,
            reason="as many as locally: so few hide too little for a larger ε on devices",
        )
    return UsersUnderTrust(
        trust="shuffled",
        against=against,
        users=max(for_error, for_privacy),
        users_for_error=for_error,
        users_for_privacy=for_privacy,
        device_epsilon=epsilon,
        mechanism=best.name,
        reason=f"{for_error:,} answer it, {for_privacy:,} hide one of them; by {best.name}",
    )


def _blanketed(
    workload: Workload, summary: LinearSummary, bound: Approximate, target: float, local: int
) -> UsersUnderTrust:
    """Of the same closed forms, hidden among random reports; as many as locally where that takes more."""
    against = "the collector, others may all be fake"
    try:
        found = choose_blanket(
            workload,
            summary.objective,
            bound,
            target,
            largest_epsilon=LOCAL_EPSILON,
            mechanisms=_closed_forms(workload, summary),
        )
    except InvalidValue as reason:
        return UsersUnderTrust(trust="blanket", against=against, users=local, reason=f"as many as locally: {reason}")
    if found.users >= local:
        return UsersUnderTrust(
            trust="blanket",
            against=against,
            users=local,
            reason="as many as locally: random reports would add too much noise",
        )
    return UsersUnderTrust(
        trust="blanket",
        against=against,
        users=found.users,
        users_for_error=found.users,
        device_epsilon=found.local_epsilon,
        blanket=found.blanket,
        mechanism=found.mechanism,
    )


def _hidden_among(best: Contender, bound: Approximate) -> int:
    """Honest reports that hide one, by the mechanism's own pairs of values or by the formula for any."""
    half = for_randomizer(best.proposal.randomizer)
    own = half.clones()
    # Of one kind its own bound is never above that for any randomizer.
    kinds = [own] if len(own) == 1 else [own, (Clones.of_any(half.likelihood_ratio),)]
    return min(honest_needed(each, bound.nano_epsilon, bound.delta) for each in kinds)


def _device_epsilon(epsilon: float, delta: Fraction, local: int) -> float:
    """The ε₀ that is likely to take the fewest users.

    Variances fall like e^ε/(e^ε−1)², and the users who hide one report grow like e^ε₀ ln(1/δ)/ε².
    """

    def users(chosen: float) -> float:
        for_error = local * _typical_variance(chosen) / _typical_variance(epsilon)
        for_privacy = 2.5 * math.log(1 / delta) * math.tanh(chosen / 2) ** 2 * math.exp(chosen) / epsilon**2
        return max(for_error, for_privacy)

    return min((each for each in _LOCAL_EPSILONS if each > epsilon), key=users, default=epsilon)


def _typical_variance(epsilon: float) -> float:
    return math.exp(epsilon) / math.expm1(epsilon) ** 2


def _best_closed_form(workload: Workload, summary: LinearSummary, epsilon: float) -> Contender:
    """Raises PlanError where none applies."""
    request = PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=summary.objective))
    work, comparison = SharedWork(request, Deadline(None, lambda: False)), Comparison(request)
    names = _closed_forms(workload, summary)
    for mechanism in MECHANISMS:
        if mechanism.name in names:
            comparison.consider(mechanism, work, ignore_progress)
    return comparison.best()


def _closed_forms(workload: Workload, summary: LinearSummary) -> set[str]:
    """Of more types than searches take, the local plan's own mechanism is a closed form, too."""
    own = {summary.mechanism} if workload.size > MAX_DENSE_TYPES else set()
    return closed_forms(workload.size) | own


def _curator(workload: Workload, summary: LinearSummary, bound: Approximate, target: float) -> UsersUnderTrust:
    """Of the release with less noise: under pure ε, or Gaussian under the largest ρ that implies (ε, δ)."""
    against = "readers of the release"
    steps = max(_CURATOR_STEPS, _CURATOR_WORK // workload.size**3)
    taken = 0

    def enough() -> bool:
        nonlocal taken
        taken += 1
        return taken > steps

    try:
        plan = plan_release(workload, bound, summary.objective, should_stop=enough)
    except InvalidValue as reason:
        return UsersUnderTrust(trust="curator", against=against, users=None, reason=str(reason))
    found = plan.summary(bound.delta)
    variance = found.max_variance if summary.objective == "max" else found.mean_variance
    # An error of a share of n users is that of a count over n.
    users = max(1, math.ceil(math.sqrt(variance) / target))
    return UsersUnderTrust(
        trust="curator",
        against=against,
        users=users,
        users_for_error=users,
        rho=found.rho,
        mechanism=found.mechanism,
    )
