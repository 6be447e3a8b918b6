"""Answers to a workload from the aggregate of one round: unbiased, best guesses, and how far they may be off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import PlainDecoder
from sordino_analysis.estimation.band import BandQuantile, band_of_many, band_quantile, campaigns_tell
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.best.guess import DecodedRound
from sordino_analysis.estimation.blanketed import BlanketedMoments
from sordino_analysis.estimation.consistency import RELATIVE_GAP, NearestHistogram, nearest_histogram
from sordino_analysis.estimation.doubts import doubts, doubts_of_so_few, doubts_of_the_band
from sordino_analysis.estimation.few_attributes import MOST_LISTED_TYPES, few_attributes_estimate
from sordino_analysis.estimation.intervals import normal_quantile, smoothed
from sordino_analysis.estimation.linear_estimate import AnswerErrors, EstimationError, LinearEstimate, Reliability
from sordino_analysis.estimation.normality import MANY_EVENTS, Judgement, Normality, Reach, judgements
from sordino_analysis.estimation.range_bounds import RangesOfTypes
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_analysis.evaluation.accumulate import Aggregate, mean_accumulator
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Cumulants, Moments
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import answer_moments, counts_as_unbiased
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.protocol import DevicePart

__all__ = ["EstimationError", "LinearEstimate", "LinearEstimator", "Reliability", "estimate"]

# A bias beyond this share of a standard error takes a visible bite out of a 95 % interval that ignores it.
_NOTICEABLE_BIAS = 0.1


def estimate(
    device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float = 0.95, blanket: int = 0
) -> LinearEstimate:
    """Decode the aggregate of a closed round with the two parts of its plan; see `LinearEstimator.estimate`.

    `blanket` of its reports are random ones of a shuffler.
    """
    return LinearEstimator.of(device, analyst).among(aggregate, blanket).estimate(aggregate, level)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearEstimator:
    """A plan made ready to decode rounds: its listed queries, its decoder spelled out, the law of its answers.

    `blanket` of the reports of a round are random ones of a shuffler, whose expected sum is subtracted.
    """

    device: DevicePart
    analyst: AnalystPart
    workload: Workload
    decoder: PlainDecoder
    law: AnswerMoments
    blanket: int = 0

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart) -> LinearEstimator:
        """Raises EstimationError where the two parts are not of one plan."""
        if analyst.device_digest != device.digest:
            raise EstimationError(
                f"the analyst part belongs to the device part {analyst.device_digest}, not to {device.digest}; "
                "use the two parts of one plan"
            )
        workload = build_workload(device.domain, analyst.queries, analyst.workload)
        decoder = expand_weighted(analyst.decoder, device.randomizer, workload)
        return cls(
            device=device,
            analyst=analyst,
            workload=for_randomizer(device.randomizer).listed(workload),
            decoder=decoder,
            law=answer_moments(device.randomizer, decoder, workload),
        )

    def among(self, aggregate: Aggregate, blanket: int) -> LinearEstimator:
        """The same plan for a round of which `blanket` reports are random; raises EstimationError where all are."""
        if not blanket:
            return self
        users = aggregate.count - blanket
        if users < 1:
            raise EstimationError(
                f"{aggregate.count} reports were counted, and {blanket} of them are the shuffler's random ones: no "
                "device's report is left to estimate from"
            )
        return replace(self, law=BlanketedMoments(self.law, users, blanket), blanket=blanket)

    def users(self, aggregate: Aggregate) -> int:
        """How many devices reported."""
        return aggregate.count - self.blanket

    def estimate(self, aggregate: Aggregate, level: float = 0.95) -> LinearEstimate:
        """Answers, errors and intervals from the aggregate of a closed round.

        The variance of an answer is Σ_x h_x Var(x)/n with the exact variances of the shipped mechanism and the smoothed
        nearest histogram in place of h; a sample's own variance h(1−h)/n is added for the population. Intervals hold
        the answers that are z of their own standard errors from the estimate, so they need not be even about it; those
        for the population also hold what is z standard errors of the estimate away. Raises EstimationError where there
        are no reports, or the aggregate is of another plan.
        """
        if not 0 < level < 1:
            raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
        answers, users = self.unbiased(aggregate), self.users(aggregate)
        if isinstance(self.law, OrbitAnswerMoments) and self.workload.size > MOST_LISTED_TYPES:
            return self._of_few_attributes(self.law, answers, users, level)
        nearest = self.nearest(answers, users)
        guess = self.guess(aggregate, answers, nearest)
        return self._assemble(answers, nearest, users, level, guess=guess)

    def guess(self, aggregate: Aggregate, answers: Floats, nearest: NearestHistogram) -> BestGuess:
        """The best guess at the users' histogram, from unbiased `answers` (Q,) and the histogram nearest to them."""
        return DecodedRound(
            law=self.law,
            own=self.law_of_reports,
            randomizer=self.device.randomizer,
            mean=mean_accumulator(self.device.randomizer, aggregate),
            answers=answers,
            nearest=nearest.histogram,
            users=self.users(aggregate),
            blanket=self.blanket,
        ).guess()

    def nearest(self, answers: Floats, users: int) -> NearestHistogram:
        """The histogram whose answers are nearest to the unbiased ones (Q,)."""
        return _nearest(self.workload, answers, self.law, users)

    def estimate_uncut(self, nearest: NearestHistogram, aggregate: Aggregate, level: float) -> LinearEstimate:
        """The estimate without a best guess, and with intervals that are not cut by the simplex."""
        return self._assemble(self.unbiased(aggregate), nearest, self.users(aggregate), level, cut=False)

    def for_queries(self, workload: Workload, decoder: PlainDecoder, law: AnswerMoments) -> LinearEstimator:
        """The same plan made ready to answer other queries, with a decoder and the law of their answers."""
        if isinstance(self.law, BlanketedMoments):
            law = replace(self.law, own=law)
        return replace(self, workload=workload, decoder=decoder, law=law)

    def estimate_among(
        self,
        nearest: NearestHistogram,
        aggregate: Aggregate,
        level: float,
        compared: int,
        bias: float,
        guess: BestGuess | None = None,
    ) -> LinearEstimate:
        """Answers of users who are spread about as `nearest`, with a band that holds `compared` answers at once.

        No answer's bias exceeds `bias`; the best ones are those of the `guess`, or of `nearest` without one.
        """
        answers, users = self.unbiased(aggregate), self.users(aggregate)
        return self._assemble(answers, nearest, users, level, compared=compared, bias=bias, guess=guess)

    def errors_among(self, nearest: NearestHistogram, users: int, level: float, bias: float) -> AnswerErrors:
        """What is known of the errors of answers of users who are spread about as `nearest`."""
        plausible = smoothed(nearest.histogram, users, normal_quantile(level))
        variances = self.law.mixed_variances(plausible)
        return AnswerErrors(
            variances=variances,
            curve=self._variance_curve(plausible, variances),
            sampled=_sampled(self.workload, nearest.histogram),
            zero_one=self.workload.operator.zero_one,
            shares=self.workload.operator.shares(),
            bias=bias,
            users=users,
            level=level,
        )

    def contribution_laws(self, histogram: Floats) -> list[ContributionLaw | Moments]:
        """The law of one report's contribution to each query, or none where they are not known.

        Users are spread as the `histogram` (k,). Where laws are drawn, one may be that of a query near it.
        """
        some = self.law.drawn_laws(histogram)
        if some is None:
            half, every = for_randomizer(self.device.randomizer), list(range(self.workload.queries))
            return list(half.contribution_laws(self.decoder, self.workload, histogram, every))
        drawn = list(some.laws)
        return [drawn[place] for place in some.nearest]

    def normality(
        self, nearest: NearestHistogram, errors: AnswerErrors, laws: Sequence[ContributionLaw | Moments]
    ) -> list[Normality]:
        """How often the intervals of each query hold, with these errors and `laws` among `nearest`."""
        z, held = normal_quantile(errors.level), int(np.count_nonzero(nearest.histogram))
        reaches = self._reaches(errors.curve, nearest.histogram, z, z * errors.of_population, errors.users)
        judged = judgements(laws, self.workload.queries * held, errors.users, errors.level, reaches)
        return [one.normality for one in judged]

    def reaches(self, nearest: NearestHistogram, errors: AnswerErrors, z: float) -> list[Reach]:
        """How far the interval of each query reaches, among users who are spread as `nearest`."""
        drawn = z * errors.of_population
        return list(self._reaches(errors.curve, nearest.histogram, z, drawn, errors.users))

    @property
    def law_of_reports(self) -> AnswerMoments:
        """The law of answers of devices' reports alone, without a shuffler's random ones."""
        return self.law.own if isinstance(self.law, BlanketedMoments) else self.law

    def unbiased(self, aggregate: Aggregate) -> Floats:
        """(Q,) the unbiased answers alone, with the same errors."""
        check_aggregate(self.device, aggregate)
        mean = mean_accumulator(self.device.randomizer, aggregate)
        return _with_constants(self.law.decode(mean), self.workload)

    def _assemble(
        self,
        answers: Floats,
        nearest: NearestHistogram,
        users: int,
        level: float,
        *,
        compared: int | None = None,
        bias: float | None = None,
        guess: BestGuess | None = None,
        cut: bool = True,
    ) -> LinearEstimate:
        z, histogram = normal_quantile(level), nearest.histogram
        errors = self.errors_among(nearest, users, level, self.analyst.figures.bias_bound if bias is None else bias)
        spread = self.shrunk(smoothed(histogram, users, z), answers, errors.variances / users)
        reaches = self._reaches(errors.curve, histogram, z, z * errors.of_population, users)
        found = self._reliability(histogram, spread, reaches, users, level, compared)
        warnings = (
            *doubts(self.workload.label, users, level, found.normality),
            *doubts_of_so_few(users, level, self.law.judged_from),
            *doubts_of_the_band(found.band, users, level),
            *_warnings(errors.bias, errors.standard),
            *_unfinished(nearest, guess),
        )
        unbiased = counts_as_unbiased(self.analyst.figures)
        best = self.workload.operator.matvec(histogram if guess is None else guess.histogram)
        ranges = None if compared is not None or not cut else RangesOfTypes.of(self.workload.operator)
        return errors.estimate(answers, best, found, warnings, counts_as_unbiased=unbiased, guess=guess, ranges=ranges)

    def _of_few_attributes(self, law: OrbitAnswerMoments, answers: Floats, users: int, level: float) -> LinearEstimate:
        figures = self.analyst.figures
        found = few_attributes_estimate(law, answers, users, level, figures, law.workload.queries)
        doubtful = (*doubts(self.workload.label, users, level, found.normality), *found.warnings)
        return replace(found, warnings=(*doubtful, *_warnings(figures.bias_bound, found.standard_error)))

    def _variance_curve(self, plausible: Floats, variances: Floats) -> VarianceCurve:
        slopes = self.law.variance_slopes(plausible)
        return VarianceCurve.through(
            self.workload.operator.matvec(plausible), variances, slopes, self.workload.operator.entry_range()
        )

    def shrunk(self, histogram: Floats, answers: Floats, variances: Floats) -> Floats:
        """The histogram drawn to the even one as far as noise alone would put the answers from its (James, Stein 1961).

        `histogram` (k,), `answers` (Q,) with these `variances` (Q,).

        Noise makes an estimated histogram more uneven than the users are, its answers more correlated and their band
        too narrow: that of Hadamard response held .87 at ε = 8 and 200 users, who were spread evenly.
        """
        even = np.full_like(histogram, 1 / len(histogram))
        apart = float(((answers - self.workload.operator.matvec(even)) ** 2).sum())
        kept = max(0.0, 1 - float(variances.sum()) / apart) if apart > 0 else 0.0
        return np.asarray(kept * histogram + (1 - kept) * even)

    def _reaches(self, curve: VarianceCurve, histogram: Floats, z: float, drawn: Floats, users: int) -> Iterator[Reach]:
        """Of every interval: it takes z errors of plausible users with the true answer, not of the users themselves."""
        taken = curve.at(self.workload.operator.matvec(histogram))
        own = self.law.mixed_variances(histogram)
        errors = z * np.sqrt(np.divide(taken, own, out=np.ones_like(own), where=own > 0))
        left = self.law.variance_scatter(histogram) / np.sqrt(users)
        scatter = np.divide(left, 2 * taken, out=np.zeros_like(left), where=taken > 0)
        return map(Reach, errors.tolist(), scatter.tolist(), drawn.tolist())

    def _reliability(
        self,
        histogram: Floats,
        spread: Floats,
        reaches: Iterable[Reach],
        users: int,
        level: float,
        compared: int | None,
    ) -> Reliability:
        reported, reports = self._reported(histogram, users), users + self.blanket
        judged = self._judged(reported, list(reaches), reports, level)
        normal = tuple(one.normality for one in judged) or (None,) * self.workload.queries
        band = (
            self._band(judged, (spread, reported), users, level)
            if compared is None
            else _band_of_many(judged, compared, reports, level)
        )
        return Reliability(normal, band)

    def _reported(self, histogram: Floats, users: int) -> Floats:
        """(k,) what all reports are of, random ones as if of a uniform type."""
        if not self.blanket:
            return histogram
        return np.asarray((users * histogram + self.blanket / len(histogram)) / (users + self.blanket))

    def _judged(self, histogram: Floats, reaches: Sequence[Reach], users: int, level: float) -> list[Judgement]:
        """Of every query, or of none; where laws are drawn, one may be that of a query near it."""
        some, queries = self.law.drawn_laws(histogram), self.workload.queries
        if some is None:
            half, every = for_randomizer(self.device.randomizer), list(range(queries))
            laws = half.contribution_laws(self.decoder, self.workload, histogram, every)
            return judgements(laws, queries * int(np.count_nonzero(histogram)), users, level, reaches)
        drawn = judgements(some.laws, 2 * len(some.rows), users, level, [reaches[row] for row in some.rows])
        return [drawn[place] for place in some.nearest]

    def _band(
        self, judged: Sequence[Judgement], histograms: tuple[Floats, Floats], users: int, level: float
    ) -> BandQuantile:
        varying = self.workload.varying_rows
        chosen, outputs = [judged[query] for query in varying if judged], None
        few = any(one.events < MANY_EVENTS for one in chosen)
        if few and campaigns_tell(level):
            outputs = for_randomizer(self.device.randomizer).output_counts(self.decoder, self.workload, varying)
        # Draws of a report tell its tails, and not how few reports make up several errors together.
        alone = not campaigns_tell(level) or self.law.drawn_laws(histograms[1]) is not None
        root = None if few and outputs is None and alone else self.law.covariance_root(histograms[0])
        if few and outputs is None and root is None:
            return _band_of_many(chosen, len(varying), users + self.blanket, level)
        around = [one.of_reporters for one in chosen] or [Cumulants(1.0, 0.0, 0.0)] * len(varying)
        both = self._reported(histograms[0], users), histograms[1]
        reports = users + self.blanket
        rows = None if root is None else root[varying]
        return band_quantile(around, outputs, rows, both, reports, level, few=few)


def _band_of_many(judged: Sequence[Judgement], compared: int, users: int, level: float) -> BandQuantile:
    few = [one.law for one in dict.fromkeys(judged) if one.law is not None and one.events < MANY_EVENTS]
    return band_of_many([one.of_reporters for one in judged], few, compared, users, level)


def check_aggregate(device: DevicePart, aggregate: Aggregate) -> None:
    """Raise EstimationError where there are no reports, or sums of another plan."""
    if aggregate.count == 0:
        raise EstimationError("no report was counted in this round, so there is nothing to estimate")
    if aggregate.sums.shape != (device.randomizer.accumulator_size,):
        raise EstimationError(
            f"the plan's statistic has {device.randomizer.accumulator_size} sums, the aggregate {len(aggregate.sums)}; "
            "it is of another plan"
        )


def _with_constants(answers: Floats, workload: Workload) -> Floats:
    """A query with the same answer for every type has that answer, without error."""
    known = np.setdiff1d(np.arange(workload.queries), workload.varying_rows)
    if len(known):
        answers[known] = workload.operator.take(known)[:, 0]
    return answers


def _nearest(workload: Workload, answers: Floats, law: AnswerMoments, users: int) -> NearestHistogram:
    uniform = np.full(workload.size, 1.0 / workload.size)
    noise = float(law.mixed_variances(uniform).sum()) / users
    return nearest_histogram(workload.operator, answers, RELATIVE_GAP * noise)


def _sampled(workload: Workload, histogram: Floats) -> SampledAnswers:
    operator = workload.operator
    return SampledAnswers(operator.matvec(histogram), operator.squared_matvec(histogram), *operator.entry_range())


def _warnings(bias: float, error: Floats) -> tuple[str, ...]:
    smallest = float(error[error > 0].min()) if (error > 0).any() else math.inf
    if bias <= _NOTICEABLE_BIAS * smallest:
        return ()
    return (f"answers may be off by a bias of up to {bias:.3g}, which the intervals were widened by",)


def _unfinished(nearest: NearestHistogram, guess: BestGuess | None) -> tuple[str, ...]:
    """One sentence where the nearest histogram is the best guess and was not found."""
    if nearest.converged or (guess is not None and guess.method != "projection"):
        return ()
    return (
        f"the best guesses are feasible but not the nearest: their squared distance to the unbiased ones exceeds "
        f"the least by up to {nearest.excess:.3g}, {nearest.excess / nearest.tolerance:.3g} times what was asked for",
    )
