"""The plan of JL-Release, asked for by name: how many signed sums, with which noise, and its errors by simulation.

It answers of the nearest histogram alone, so that no formula has its errors: they depend on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.projections import Projection
from sordino_analysis.curator.signed_sums import projection_of
from sordino_analysis.curator.usefulness import zipf_shares
from sordino_analysis.documents.curator_part import MAX_SUMS, CuratorPart, SignedSums
from sordino_analysis.documents.curator_summary import CuratorPromise, promise_of
from sordino_analysis.documents.projected_summary import SimulatedErrors
from sordino_analysis.evaluation.whole_users import whole_users
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.approximate import DELTA, Approximate, zcdp_within
from sordino_analysis.guarantees.releases import check_epsilon, in_range
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# By name, the distance α of types that are told apart: Coarse JL-Release moves answers by at most half of it.
SEPARATIONS = {"jl": 0.0, "coarse_jl": 0.5}
PROJECTIONS = tuple(SEPARATIONS)
# The seed is part of the plan: the same signs and the same simulated data on every machine.
_SEED = 20_261_128
# Draws of the noise for each of two histograms: the ratios that are shown are of a factor of two and more.
_MOST_DRAWS = 3
# Fewer sums are never better in what was tried.
_LEAST_SUMS = 8
# Numbers of a matrix of sums or of queries, by types: 64 MB.
_MOST_NUMBERS = 2**23


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectedPlan:
    """A biased release of signed sums about a known number of `users`; `errors` are simulated."""

    name: str
    workload: Workload
    users: int
    guarantee: Guarantee
    published: SignedSums
    projection: Projection
    errors: SimulatedErrors

    @property
    def law(self) -> NoiseLaw:
        """The noise on what is measured."""
        return self.projection.law(self.guarantee)

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets count as neighbours."""
        return "replace"

    def exact(self, counts: Integers) -> Integers:
        """(k,) → (ℓ,) what is measured of these counts, before noise."""
        return self.projection.exact(counts)

    def promise(self, delta: Fraction = DELTA) -> CuratorPromise:
        """The guarantee in numbers, at this δ where it is one of ρ."""
        return promise_of(self.guarantee, delta)

    def part(self) -> CuratorPart:
        """The document, from which anyone can run the plan and `audit_curator` checks it."""
        return CuratorPart(
            domain=self.workload.domain,
            workload=self.workload.name,
            queries=self.workload.published,
            objective="mean",
            neighbours="replace",
            guarantee=self.guarantee,
            strategy=self.published,
            noise=self.law.published(),
            max_variance=None,
            mean_variance=None,
            max_bound=None,
            mean_bound=None,
        )


def plan_projection(
    name: str, workload: Workload, asked: Guarantee | Approximate, users: int | None, neighbours: Neighbours = "replace"
) -> ProjectedPlan:
    """JL-Release or Coarse JL-Release of the least simulated error, by its name `jl` or `coarse_jl`.

    The number ℓ of sums is nε/4, nε or 4nε, within 8 and 1,024. The noise is that of a ball of ℓ∞ under ε, or the
    discrete Gaussian under ρ; for (ε, δ) both are compared. Raises InvalidValue for another name, add-remove
    neighbours, no user or an unknown number of them, an ε or ρ that no release is made with, and queries that are too
    many, are the same for everybody, or have entries that are no multiples of 2⁻²⁰.
    """
    check_projection(name, workload, neighbours)
    if users is None:
        raise InvalidValue(f"errors of {name} are simulated for a number of people: give --users")
    if users < 1:
        raise InvalidValue(f"a release is about at least one user, got {users}", users)
    found = list(_candidates(name, workload, asked, users))
    return min(found, key=lambda each: each.errors.uniform + each.errors.zipf)


def check_projection(name: str, workload: Workload, neighbours: Neighbours) -> None:
    """Raise InvalidValue unless a release of this name can be about the workload and hide this."""
    if name not in PROJECTIONS:
        raise InvalidValue(f"a projection is one of {', '.join(PROJECTIONS)}, got {name!r}", name)
    if neighbours != "replace":
        raise InvalidValue("JL-Release is for a known number of people: leave out add-remove neighbours")
    if workload.dithering is not None:
        raise InvalidValue(
            "measures of numbers are planned for devices, which round them: ask a curator for shares of bins", workload
        )
    if max(workload.queries, _LEAST_SUMS) * workload.size > _MOST_NUMBERS:
        raise InvalidValue(
            f"{name} lists all types, and {workload.queries} queries about {workload.size} types are too many: "
            "ask about fewer attributes",
            workload,
        )


def example_people(workload: Workload, users: int) -> Sequence[Integers]:
    """Counts (k,) of so many people who are spread evenly, and with shares 1/rank^1.2 of the types in random order."""
    size, generator = workload.size, np.random.default_rng(_SEED)
    return [
        whole_users(shares, users) for shares in (np.full(size, 1 / size), generator.permutation(zipf_shares(size)))
    ]


def simulated_errors(
    matrix: Floats, people: Sequence[Integers], answers: Callable[[Integers, np.random.Generator], Floats]
) -> SimulatedErrors:
    """Root mean squared errors of shares over queries and draws; `matrix` (Q, k), `people` of `example_people`."""
    found, generator = [], np.random.default_rng(_SEED)
    for counts in people:
        truth = matrix @ counts / counts.sum()
        squares = [float(((answers(counts, generator) - truth) ** 2).mean()) for _ in range(_MOST_DRAWS)]
        found.append(float(np.sqrt(np.mean(squares))))
    return SimulatedErrors(uniform=found[0], zipf=found[1])


def _candidates(name: str, workload: Workload, asked: Guarantee | Approximate, users: int) -> Iterator[ProjectedPlan]:
    matrix, people = workload.operator.dense(), example_people(workload, users)
    for guarantee in _guarantees(asked):
        for sums in _sums(users * promise_of(guarantee, DELTA).epsilon, workload.size):
            published = SignedSums(_SEED, sums, SEPARATIONS[name])
            projection = projection_of(published, matrix)
            law = projection.law(guarantee)

            def answers(
                counts: Integers,
                generator: np.random.Generator,
                projection: Projection = projection,
                law: NoiseLaw = law,
            ) -> Floats:
                measured = projection.exact(counts) + law.simulated(generator, 1)[:, 0]
                return projection.answers(measured, law, users)

            yield ProjectedPlan(
                name=name,
                workload=workload,
                users=users,
                guarantee=guarantee,
                published=published,
                projection=projection,
                errors=simulated_errors(matrix, people, answers),
            )


def _guarantees(asked: Guarantee | Approximate) -> Sequence[Guarantee]:
    if isinstance(asked, Approximate):
        pure = PureEpsilon(asked.nano_epsilon)
        return [zcdp_within(asked), *([pure] if in_range(pure) else [])]
    if isinstance(asked, PureEpsilon):
        check_epsilon(asked)
    return [asked]


def _sums(scale: float, types: int) -> Sequence[int]:
    """ℓ = nε/4, nε and 4nε, within what a ball has and what is listed."""
    most = min(MAX_SUMS, _MOST_NUMBERS // types)
    return sorted({min(most, max(_LEAST_SUMS, round(each))) for each in (scale / 4, scale, 4 * scale)})
