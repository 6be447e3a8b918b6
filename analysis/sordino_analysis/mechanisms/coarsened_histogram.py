"""Random sets of items of any density m/2^g as a candidate: for histograms of hundreds to 2^64 items.

A report tells r + g bits at 2^r items: a multiplier in GF(2^r) and a label of g bits. With density q = m/2^g the
variance of an item is q(1 − q)/(p − q)² for who does not hold it and p(1 − p)/(p − q)² for who does, p being the chance
of the set to hold the own item. The best density is 1/(e^ε + 1) for the mean and 1/(e^{ε/2} + 1) for the maximum; a
few bits come close.
"""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

from sordino_analysis.evaluation.item_answers import ItemChances
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import HASHES
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_analysis.request_terms import Objective
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS
from sordino_shared.randomizers.coarsened.partitions import MAX_SIZE


class CoarsenedHistogramMechanism:
    """One level: every item a cell, its label the highest bits of its multiple in a field, m of 2^g labels likely."""

    name = "coarsened_histogram"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        if workload.symmetry is not Symmetry.TYPES:
            return "the queries are not a histogram"
        if workload.size < HASHES.fewest_items:
            return f"{workload.size} items; from {HASHES.fewest_items} on sets of one size are larger to send"
        if workload.size > MAX_SIZE:
            return f"{workload.size} items; at most 2^64 can be told apart: hash to fewer bits"
        return None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        sizes = request.workload.domain.shape
        bits, members = best_density(request.workload.size, request.guarantee.epsilon, request.options.objective)
        level = Level.of_first(1 << CHANCE_BITS, GridPartition((1,) * len(sizes)), FieldLabel(bits), members)
        randomizer = Coarsened.for_guarantee(sizes, [level], request.guarantee)
        return Proposal(randomizer, ItemChances.of(randomizer).decoder())


def best_density(items: int, epsilon: float, objective: Objective) -> tuple[int, int]:
    """(g, m): the fewest bits with a density m/2^g that is good enough, or else the best of all."""
    best = minimize_scalar(
        lambda density: _variance(density, items, epsilon, objective), bounds=(0.0, 0.5), method="bounded"
    ).fun
    enough = best * (1 + HASHES.enough[objective] * max(1.0, epsilon / 2) ** 2)
    candidates: list[tuple[float, int, int]] = []
    for bits in range(1, min(HASHES.most_label_bits, (items - 1).bit_length()) + 1):
        labels = 1 << bits
        densities = [(_variance(m / labels, items, epsilon, objective), bits, m) for m in range(1, labels // 2 + 1)]
        candidates.append(min(densities))
        if candidates[-1][0] <= enough:
            break
    _, bits, members = min(candidates)
    return bits, members


def _variance(density: float, items: int, epsilon: float, objective: Objective) -> float:
    """The objective's variance at a density, were weights real numbers."""
    chance_of_own = math.exp(epsilon) * density / (1 + density * math.expm1(epsilon))
    variance_of_own, other = chance_of_own * (1 - chance_of_own), density * (1 - density)
    moment = max(variance_of_own, other) if objective == "max" else other + (variance_of_own - other) / items
    return moment / (chance_of_own - density) ** 2
