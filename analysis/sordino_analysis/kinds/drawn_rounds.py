"""A campaign without a server: users answer its rounds through the real randomizers until an estimate follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.kinds.base import KindOfQuestion
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, DrawOneRound, EveryRound, Manifest, PlanReference, RoundTerms
from sordino_shared.randomness import Randomness

# Reports that are drawn and added up at once.
BATCH = 1 << 14


def drawn_estimate(
    kind: KindOfQuestion, plan: FinishedPlan, values: Sequence[object], randomness: Randomness
) -> EstimateDocument:
    """The estimate from a user for each of the values, which each round encodes as devices do; raises as `follow`."""
    manifest = manifest_of(plan)
    following: RoundPlan | EstimateDocument = RoundPlan(plan.device, plan.analyst)
    closed: tuple[ClosedRound, ...] = ()
    answering = _answering(manifest, len(values), randomness)
    while isinstance(following, RoundPlan):
        codes = codes_many(following.device.domain, [values[user] for user in np.flatnonzero(next(answering)).tolist()])
        pages = [*drawn_reports(following.device, codes, randomness)] if kind.reads_reports else None
        total = randomized(following.device, codes, randomness) if pages is None else added_up(following.device, pages)
        closed = (*closed, ClosedRound(following, total, payloads=None if pages is None else partial(iter, pages)))
        following = kind.follow(manifest, plan.protocol, closed, conclude=False)
    return following


def manifest_of(plan: FinishedPlan, name: str = "drawn") -> Manifest:
    """The manifest of a campaign of the plan, as a server writes it."""
    whole = plan.protocol
    spends: Sequence[PureEpsilon] = (plan.device.guarantee,) if whole is None else whole.round_guarantees()
    first = PlanReference(plan.device.digest, plan.analyst.digest)
    return Manifest(
        name=name,
        purpose="No device answers it.",
        population=name,
        created_at=0,
        domain=plan.device.domain,
        device_guarantee=plan.device.guarantee if whole is None else PureEpsilon(whole.guarantee),
        rounds=tuple(RoundTerms(each, None if index else first) for index, each in enumerate(spends)),
        assignment=EveryRound() if whole is None or whole.weights is None else DrawOneRound(whole.weights),
        protocol=None if whole is None else whole.digest,
    )


def randomized(device: DevicePart, codes: NDArray[np.uint64], randomness: Randomness) -> Aggregate:
    """The exact sum of one report for each of the values `codes` (n, attributes)."""
    return added_up(device, drawn_reports(device, codes, randomness))


def drawn_reports(device: DevicePart, codes: NDArray[np.uint64], randomness: Randomness) -> Iterator[NDArray[np.uint8]]:
    """One report for each of the values `codes` (n, attributes), in pages (m, width)."""
    for start in range(0, len(codes), BATCH):
        yield randomize_part(device, codes[start : start + BATCH], randomness)


def added_up(device: DevicePart, pages: Iterable[NDArray[np.uint8]]) -> Aggregate:
    """The exact sum of reports in pages (m, width)."""
    total = Aggregate.empty(device.randomizer)
    for payloads in pages:
        total += Aggregate(len(payloads), accumulate(device.randomizer, payloads))
    return total


def _answering(manifest: Manifest, users: int, randomness: Randomness) -> Iterator[NDArray[np.bool_]]:
    """For each round the (n,) users who answer it: all, or those who drew it where each answers one."""
    if not isinstance(manifest.assignment, DrawOneRound):
        while True:
            yield np.ones(users, dtype=np.bool_)
    ends = np.cumsum(np.array(manifest.assignment.weights, dtype=np.uint64))
    drawn = np.searchsorted(ends, uniform_bits(randomness, 32, users), side="right")
    for index in range(len(ends)):
        yield drawn == index
