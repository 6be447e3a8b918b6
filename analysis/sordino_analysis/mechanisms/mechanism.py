"""What a candidate mechanism is, and the work that candidates of one request share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import Factors
from sordino_analysis.documents.decoders import AnswerDecoder, Decoder
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.grids.listing import answered_by_grids
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.mechanisms.tuning import EXTREME_ROWS, SHARED_WORK
from sordino_analysis.optimisation.bounds import TraceBound, trace_bound
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.optimisation.factorization import Factorization, factorize
from sordino_analysis.optimisation.symmetry.character_rows import character_families
from sordino_analysis.optimisation.symmetry.many_orbits import rows_of_shapes
from sordino_analysis.optimisation.symmetry.odd_characters import odd_under_a_shift
from sordino_analysis.optimisation.symmetry.orbit_design import OrbitDesign, design_rows
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_families import drawn_rows
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Dense, Symmetry
from sordino_analysis.questions.linear.widths import CharacterMap, character_map
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import SordinoError
from sordino_shared.randomizers import AnyRandomizer
from sordino_shared.randomizers.dithered import InnerRandomizer
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS, MAX_SUMS

# A factorization of prefix sums over 2048 types takes two minutes on one core; twice the types take eight times that.
MAX_DENSE_TYPES = 2048
# At ε = 1 a dense design of prefix sums over 512 types has 3 % more variance on average than shifted grids and 6 % less
# at the worst. It takes a minute, and ten over twice as many types. Of prefix sums of two attributes it has 11 % less
# over 24 × 24 types, for two minutes.
MOST_DENSE_INTERVALS = 512
# 128 MiB of doubles for W; the factor L and the decoder of the vector mechanism are as large each.
MAX_DENSE_ENTRIES = 1 << 24
_GRIDS = ("shifted_grids", "plane_grids", "category_grids", "plane_category_grids")
# Of the factorization that all mechanisms share: no plan by it is further above the least. Measured: `python -m
# benchmarks.planning`.
FACTORIZATION_GAP = 0.01


class MechanismFailed(SordinoError):
    """The mechanism applied but found no design; the message gives the reason. The others are compared without it."""

    code = "mechanism-failed"
    advice = "plan with another mechanism, or with another ε"


@dataclass(frozen=True, eq=False)
class Proposal:
    """A randomizer and the decoder of its reports; `factors` where the mechanism is a factorization.

    `soft_variance` is the objective before a search rounded its rows to staircase rows.
    """

    randomizer: AnyRandomizer
    decoder: Decoder
    factors: Factors | None = None
    soft_variance: float | None = None

    def on_devices(self, request: PlanRequest) -> Proposal:
        """The same behind the rounding of numbers, where the request has some; raises MechanismFailed."""
        dithering = request.workload.dithering
        if dithering is None:
            return self
        if not isinstance(self.randomizer, InnerRandomizer):
            raise MechanismFailed(f"numbers are not rounded for a randomizer of kind {self.randomizer.kind}")
        return replace(self, randomizer=dithering.randomizer(self.randomizer))

    def law(self, request: PlanRequest) -> AnswerMoments:
        """The exact law of its answers."""
        return answer_moments(self.randomizer, self.decoder, request.workload)

    def variance(self, request: PlanRequest) -> float:
        """The variance that the request's objective is about."""
        figures = self.law(request).profile().figures()
        return figures.max_variance if request.options.objective == "max" else figures.mean_variance


class Mechanism(Protocol):
    """A mechanism that the planner may choose. Adding one is a file and a line in the registry."""

    name: str

    def reason_against(self, work: SharedWork) -> str | None:
        """Why it does not apply to the request, in words for a person, or None."""

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        """Randomizer and decoder; only called where nothing speaks against it. May raise MechanismFailed."""


@runtime_checkable
class Predicted(Mechanism, Protocol):
    """A mechanism whose figures are known by a formula before it is built."""

    def least_variance(self, work: SharedWork) -> float | None:
        """No more than the variance that the objective is about, or None where the formula does not hold.

        With `users` n in the options: than n times the mean squared error.
        """


def plain_answers(decoder: AnswerDecoder, workload: Workload) -> AnswerDecoder:
    """Answers to diag(√w) W as answers to W."""
    roots = np.sqrt(workload.query_weights)
    matrix, offset = ndarray(decoder.matrix) / roots[:, None], ndarray(decoder.offset) / roots
    return AnswerDecoder(array_of(matrix, "<f8"), array_of(offset, "<f8"))


class SharedWork:
    """The request and the expensive things that several candidates and the certificate need, each made once.

    Iterative searches check `deadline` after each step.
    """

    def __init__(self, request: PlanRequest, deadline: Deadline | None = None) -> None:
        self.request = request
        self.deadline = deadline or Deadline(request.options.time_limit)
        self._factorizations: dict[Objective, Factorization] = {}
        self._bounds: dict[Objective, TraceBound] = {}
        self._orbits: dict[Objective, OrbitDesign] = {}

    @cached_property
    def too_large_for_dense(self) -> str | None:
        """Why W is not formed, or None."""
        queries, size = self.request.workload.operator.shape
        if self._left_to_grids:
            return (
                f"{size} types; a dense design of more than {MOST_DENSE_INTERVALS} ordered types takes minutes: name "
                "its mechanism to have it made"
            )
        if size > MAX_DENSE_TYPES:
            return f"{size} types; the limit for a dense design is {MAX_DENSE_TYPES}"
        if queries * size > MAX_DENSE_ENTRIES:
            return f"{queries} × {size} entries of W; the limit for a dense design is {MAX_DENSE_ENTRIES}"
        return None

    @property
    def _left_to_grids(self) -> bool:
        """Whether grids take seconds where a dense design takes minutes, unless the request names the mechanism."""
        workload, named = self.request.workload, self.request.options.mechanism
        if workload.size <= MOST_DENSE_INTERVALS or named not in (None, *_GRIDS):
            return False
        # Of a matrix that somebody wrote a dense design is made as far as it goes, for it may be no sums of neighbours.
        return answered_by_grids(workload) and not isinstance(workload.operator, Dense)

    @cached_property
    def solved_in_closed_form(self) -> str | None:
        """Why a general search cannot gain anything, unless the request names it; or None."""
        if self.request.options.mechanism is None and self.request.workload.symmetry is Symmetry.TYPES:
            return "no kernel has less variance on a histogram than the best mixture of subset sizes"
        if self.request.options.mechanism is None and self.solved_by_characters:
            return "no kernel has less variance on odd queries than signs of characters, up to ε = ln 3"
        if self.request.options.mechanism is None and self._is_one_number:
            return "a linear program has the kernel with the least variance of one query"
        return None

    @property
    def _is_one_number(self) -> bool:
        """Whether one query is asked of numbers, of more than all extreme rows are listed for."""
        workload = self.request.workload
        return workload.has_units and len(workload.varying_rows) == 1 and workload.size > EXTREME_ROWS.max_types

    @cached_property
    def matrix(self) -> Floats:
        """diag(√w) W, dense: its plain variances are what the objective is about, so designs are made for it.

        Shape (Q, k).
        """
        return self.request.workload.weighted_matrix()

    def plain_answers(self, decoder: AnswerDecoder) -> AnswerDecoder:
        """A decoder of the answers to `matrix` as one of the answers to W."""
        return plain_answers(decoder, self.request.workload)

    def factorization(self, objective: Objective, progress: ProgressCallback = ignore_progress) -> Factorization:
        """The centred factorization of W for one of the objectives, certified to FACTORIZATION_GAP."""
        if objective not in self._factorizations:
            should_stop = self.deadline.sooner(SHARED_WORK.share_of_step)
            factors = factorize(self.matrix, objective, FACTORIZATION_GAP, progress=progress, should_stop=should_stop)
            self._factorizations[objective] = factors
        return self._factorizations[objective]

    def bound(self, objective: Objective) -> TraceBound:
        """The certified lower bound for one of the objectives."""
        if objective not in self._bounds:
            epsilon, start = self.request.guarantee.epsilon, self.factorization(objective)
            should_stop = self.deadline.sooner(SHARED_WORK.share_of_step)
            self._bounds[objective] = trace_bound(self.matrix, epsilon, objective, start, should_stop=should_stop)
        return self._bounds[objective]

    def orbit_design(self, objective: Objective) -> OrbitDesign:
        """The best mixture of rows for parities and marginals; may raise RowsNotFound."""
        request = self.request
        if objective not in self._orbits:
            operator, epsilon, seed = self._characters, request.guarantee.epsilon, request.options.seed
            if self.solved_by_characters:
                self._orbits[objective] = drawn_rows(character_families(operator, epsilon), operator, objective)
            elif self.has_many_orbits:
                most_rows = min(MAX_ROWS, MAX_SUMS // (1 + operator.characters.count))
                rows, chances = rows_of_shapes(operator, epsilon, seed, most_rows)
                self._orbits[objective] = OrbitDesign(rows, chances, query_fourier_weights(operator).shares)
            else:
                self._orbits[objective] = design_rows(operator, epsilon, objective, seed)
        return self._orbits[objective]

    @cached_property
    def solved_by_characters(self) -> bool:
        """Whether rows of one character each have the least variance of all kernels: an odd workload and ε ≤ ln 3."""
        operator = self.request.workload.operator
        if not isinstance(operator, CharacterMap) or self.request.guarantee.epsilon > math.log(3):
            return False
        return operator.invariant and odd_under_a_shift(operator)

    @property
    def has_many_orbits(self) -> bool:
        """Whether parities or marginals have more orbits of characters than a device holds rows."""
        return len(self._characters.characters.orbits) > MAX_ROWS

    @property
    def _characters(self) -> CharacterMap:
        return character_map(self.request.workload.operator)
