"""The second round of the protocols that have two: one query made of the first round's answers, and its prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.accumulate import Aggregate, mean_accumulator
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.mechanisms.single_query import QueryKernel, query_kernel
from sordino_analysis.pairwise.answers import Answers
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.estimators import linearised
from sordino_analysis.pairwise.form_kernel import Aim
from sordino_analysis.pairwise.one_step import StepTerms, split_terms
from sordino_analysis.pairwise.sealing import RoundQueries, seal
from sordino_analysis.pairwise.tuning import SECOND_ROUND
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

# Any seed: the same rounds have the same plan.
_SEED = 20_261_122


@dataclass(frozen=True)
class Allotment:
    """How many users each of two rounds has, and whether they are the same; `epsilon` is each round's guarantee."""

    first: float
    second: float
    same_users: bool
    second_guarantee: PureEpsilon


def query_round(
    statistic: PairwiseStatistic, reports: DecodedReports, target: str, guarantee: PureEpsilon, seed: int
) -> RoundPlan:
    """The sealed plan for the query s = Wĥ."""
    values, kernel = asked_query(statistic, reports, target, guarantee)
    label = f"{statistic.name}: mean with the users of the first round"
    queries = RoundQueries(f"{statistic.name}, second round"[:200], statistic.domain, values[None, :], (label,))
    return seal(queries, guarantee, kernel.kernel, kernel.decoder, "query_kernel", seed)


def asked_query(
    statistic: PairwiseStatistic, reports: DecodedReports, target: str, guarantee: PureEpsilon
) -> tuple[Floats, QueryKernel]:
    """s = Wĥ (k,), and the best kernel for it and for types as frequent as the first round found them."""
    values = linearised(statistic, reports, target).matrix @ reports.histogram
    return values, query_kernel(values, reports.plausible, guarantee)


def answers_of(closed: ClosedRound, *, same_users: bool) -> Answers:
    """The mean of a second round's answers; raises InvalidValue for another plan, or where nobody answered."""
    randomizer, decoder = closed.plan.device.randomizer, closed.plan.analyst.decoder
    if not isinstance(randomizer, FiniteKernel) or not isinstance(decoder, AnswerDecoder):
        raise InvalidValue("the second round must ask one query by a finite kernel", closed.plan)
    return answers_to(randomizer, decoder, closed.aggregate, same_users=same_users)


def answers_to(kernel: FiniteKernel, decoder: AnswerDecoder, aggregate: Aggregate, *, same_users: bool) -> Answers:
    """The mean of the answers that the kernel's outputs are, with their law."""
    mean = ndarray(decoder.offset) + ndarray(decoder.matrix) @ mean_accumulator(kernel, aggregate)
    return Answers(
        mean=float(mean[0]),
        sent=ndarray(decoder.matrix)[0],
        chances=probabilities(kernel),
        users=aggregate.count,
        same_users=same_users,
    )


def predicted_terms(aim: Aim, law: DecodedReportMoments, allotment: Allotment, seed: int = _SEED) -> StepTerms:
    """The terms of the variance at one histogram; V₂ is that of the kernel for s = Wĥ with a drawn ĥ.

    The noise of the first round widens the range of s, so V₂ depends on n₁.
    """
    first, second = allotment.first, allotment.second
    linear, quadratic = law.form_variance(aim.matrix, aim.histogram, first)
    answered = aim.histogram @ _answer_variances(aim, law, allotment, seed)
    slope = aim.matrix @ aim.histogram
    spread = float(aim.histogram @ slope**2 - (aim.histogram @ slope) ** 2)
    terms = StepTerms(
        linear=linear,
        quadratic=quadratic,
        answers=4.0 * float(answered) / second,
        split=0.0,
        first_share=first / (first + second),
    )
    if allotment.same_users:
        return terms
    crossed, sampled = split_terms(law.covariance(aim.histogram), aim.matrix, aim.histogram, (first, second))
    split = 4.0 * spread * (1.0 / first + 1.0 / second)
    return replace(terms, split=split, crossed=crossed, sampled=sampled)


def predicted_variance(
    aim: Aim, law: DecodedReportMoments, allotment: Allotment, step: float, goes_on: Callable[[], bool]
) -> tuple[float, float] | None:
    """The variance at one histogram for λ = `step`: the mean over drawn first rounds, and its standard error.

    None once `goes_on` says no, which is asked before each draw.
    """
    draws = max(SECOND_ROUND.fewest_draws, min(SECOND_ROUND.most_draws, SECOND_ROUND.types_drawn // law.size))
    found = []
    for draw in range(draws):
        if not goes_on():
            return None
        found.append(predicted_terms(aim, law, allotment, _SEED + draw).variance(step))
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(draws))


def _answer_variances(aim: Aim, law: DecodedReportMoments, allotment: Allotment, seed: int) -> Floats:
    generator = np.random.Generator(np.random.PCG64(seed))
    chances = np.maximum(law.kernel @ aim.histogram, 0.0)
    counts = generator.multinomial(max(2, round(allotment.first)), chances / chances.sum())
    drawn = DecodedReports(law, counts.astype(float))
    return query_kernel(aim.matrix @ drawn.histogram, drawn.plausible, allotment.second_guarantee).variances
