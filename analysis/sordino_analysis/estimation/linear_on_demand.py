"""Answers on demand from reports whose decoder gives answers or a histogram of all types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder, PlainDecoder, ToHistogram
from sordino_analysis.estimation.answer_on_demand import OnDemand, Quantiles, marginal_cells, share_answers
from sordino_analysis.estimation.band import OUTER_SHARE
from sordino_analysis.estimation.best.average import BestGuess
from sordino_analysis.estimation.consistency import NearestHistogram
from sordino_analysis.estimation.cumulative import (
    DistributionFunction,
    FunctionEnds,
    filled_in,
    looked_at,
    quantile_answers,
    rising_ends,
)
from sordino_analysis.estimation.intervals import normal_quantile, smoothed
from sordino_analysis.estimation.linear import EstimationError, LinearEstimate, LinearEstimator
from sordino_analysis.estimation.linear_estimate import Ends, around
from sordino_analysis.estimation.ranges_at_once import MOST_TYPES, RangesAtOnce, every_range, listed_ranges
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors, rows_of
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box, Boxes, meet
from sordino_analysis.questions.linear.factors import interval_label, prefix_count, range_count, rectangle_count
from sordino_analysis.questions.linear.on_demand import BoxKind, Quantile, prefix_box, unnamed_prefixes
from sordino_analysis.questions.linear.operators import Dense, Indices, LinearMap
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.domains import Ordered
from sordino_shared.randomizers import AnyRandomizer

# Decoders of queries that a plan was not made for, as far as its reports tell them.


# What a combination of the plan's queries may miss of a query that it stands for, in shares of its largest entry.
_MOST_RESIDUE = 1e-8


def derived_decoder(
    decoder: PlainDecoder, randomizer: AnyRandomizer, workload: Workload, derived: Workload
) -> PlainDecoder:
    """The decoder for the queries of `derived` of a plan that has `decoder` for those of `workload`.

    A decoder of histograms serves any query. Of others, a query has the answer of the workload's query that it is, or
    is one without; else it is the combination of queries of least squares. Raises EstimationError where there is none.
    """
    if isinstance(decoder, ToHistogram):
        return decoder
    if not isinstance(decoder, AnswerDecoder):
        raise EstimationError("this plan answers the queries of its workload only")
    combined, constant = _combinations(workload.operator.dense(), derived)
    rows, offsets = combined @ ndarray(decoder.matrix), combined @ ndarray(decoder.offset) + constant
    return AnswerDecoder(array_of(rows, "<f8"), array_of(offsets, "<f8"))


def _combinations(matrix: Floats, derived: Workload) -> tuple[Floats, Floats]:
    """C (m, Q) and c (m,) with C W + c 1ᵀ = V."""
    wanted = derived.operator.dense()
    combined, constant = np.zeros((len(wanted), len(matrix))), np.zeros(len(wanted))
    other = np.ones(len(wanted), dtype=bool)
    places = {row.tobytes(): query for query, row in reversed(list(enumerate(matrix + 0.0)))}
    for place, row in enumerate(wanted):
        for sign, whole, same in ((1.0, 0.0, row), (-1.0, 1.0, 1 - row)):
            query = places.get((same + 0.0).tobytes())
            if other[place] and query is not None:
                combined[place, query], constant[place], other[place] = sign, whole, False
    if other.any():
        fitted = _fitted(np.vstack([matrix, np.ones(matrix.shape[1])]), wanted[other])
        combined[other], constant[other] = fitted[:, :-1], fitted[:, -1]
        missed = np.abs(fitted[:, :-1] @ matrix + fitted[:, -1:] - wanted[other]).max(axis=1)
        missed /= np.maximum(np.abs(wanted[other]).max(axis=1), 1.0)
        if missed.max() > _MOST_RESIDUE:
            label = derived.label(int(np.flatnonzero(other)[missed.argmax()]))
            raise EstimationError(
                f"the plan's queries do not determine the answer to {label!r}: make a plan for a workload that asks it"
            )
    return combined, constant


def _fitted(matrix: Floats, wanted: Floats) -> Floats:
    """(m, Q) the shortest combinations of rows of the matrix (Q, k) that come nearest to `wanted` (m, k).

    Rows count in their own units, or shares beside numbers of milliseconds would be lost to rounding.
    """
    largest = np.abs(matrix).max(axis=1)
    units = np.where(largest > 0, largest, 1.0)
    matrix = matrix / units[:, None]
    queries, types = matrix.shape
    if queries <= types:
        return np.asarray(np.linalg.lstsq(matrix.T, wanted.T)[0].T / units)
    # (WᵀW)⁺ of the types, which are fewer.
    return np.asarray((matrix @ np.linalg.lstsq(matrix.T @ matrix, wanted.T)[0]).T / units)


def _among(guesses: Floats, share: float) -> Floats | None:
    """(b,) F at the bins of a group from a guess at its users up to each bin, and at all of them; None of nobody."""
    return guesses[:-1] + share * (1 - guesses[-1]) if guesses[-1] > 0 else None


# A bias beyond this share of a user's standard deviation is no rounding: the reports do not tell the answer.
_MOST_BIAS = 1e-3


@dataclass(frozen=True, eq=False)
class LinearOnDemand:
    """A closed round of a plan over listed types, decoded once."""

    estimator: LinearEstimator
    aggregate: Aggregate

    @property
    def users(self) -> int:
        """How many devices reported."""
        return self.estimator.users(self.aggregate)

    @cached_property
    def nearest(self) -> NearestHistogram:
        """The histogram that stands for the users in all variances."""
        return self.estimator.nearest(self.estimator.unbiased(self.aggregate), self.users)

    @cached_property
    def guess(self) -> BestGuess | None:
        """The best guess at the users' histogram; None where it is none for other questions than the plan's."""
        answers = self.estimator.unbiased(self.aggregate)
        return self.estimator.guess(self.aggregate, answers, self.nearest)

    def compared(self, kind: BoxKind) -> int:
        domain = self.estimator.workload.domain
        if kind == "cell":
            return domain.size
        if kind == "marginal":
            return marginal_cells(domain.shape)
        if kind == "rectangle":
            return rectangle_count(domain)
        return sum(range_count(attribute) for attribute in domain.attributes if isinstance(attribute, Ordered))

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        estimator = self._asked(boxes)
        bias = self._bias(estimator)
        found = estimator.estimate_among(self.nearest, self.aggregate, level, compared, bias, self.guess)
        if found.reliability.band.outer is not None:
            found = self._within_the_simplex(found, boxes, compared)
        return OnDemand(
            answers=share_answers([box.label for box in boxes], found, range(len(boxes))),
            compared=compared,
            users=found.users,
            level=level,
            bias_bound=bias,
            warnings=found.warnings,
        )

    def _within_the_simplex(self, found: LinearEstimate, boxes: Sequence[Box], compared: int) -> LinearEstimate:
        """With intervals, and a band of all ranges, that all of them at once and the simplex cut."""
        every = self._at_once(found.level)
        if every is None:
            return found
        if every.warning is not None:
            return found.doubting(every.warning)
        first, last = np.array([box.sides[0] for box in boxes], dtype=np.intp).T
        bounds = every.of(first, last + 1, every=compared == self.compared("range"))
        return found if bounds is None else found.within(bounds)

    def _at_once(self, level: float) -> RangesAtOnce | None:
        """What all ranges of one ordered attribute say of each; None of several attributes."""
        workload = self.estimator.workload
        (attribute, *others) = workload.domain.attributes
        if others or not isinstance(attribute, Ordered) or workload.dithering is not None:
            return None
        if level not in self._ranges:
            self._ranges[level] = self._every_range(level) or listed_ranges(
                self.estimator, self.nearest, self.aggregate, level
            )
        return self._ranges[level]

    @cached_property
    def _ranges(self) -> dict[float, RangesAtOnce | None]:
        """Those of levels that were asked for: of 512 types they take seconds."""
        return {}

    def _every_range(self, level: float) -> RangesAtOnce | None:
        """From all steps of the distribution function; None where they are too many or not determined."""
        size = self.estimator.workload.size
        if size > MOST_TYPES or size < 2:
            return None
        try:
            steps = self._asked([Box(f"up to type {last}", ((0, last),)) for last in range(size - 1)])
            bias = self._bias(steps)
        except EstimationError:
            return None
        return every_range(steps, self.nearest, self.aggregate, level, bias)

    def quantiles(self, questions: Sequence[Quantile], level: float) -> OnDemand:
        domain = self.estimator.workload.domain
        functions = {place: self._function(place, level) for place in {one.attribute for one in questions}}
        return OnDemand(
            answers=quantile_answers(domain, questions, functions),
            compared=prefix_count(domain),
            users=self.users,
            level=level,
            bias_bound=self.estimator.analyst.figures.bias_bound,
            warnings=tuple(dict.fromkeys(each for one in functions.values() for each in one.warnings)),
        )

    @cached_property
    def _functions(self) -> dict[tuple[int, float], DistributionFunction]:
        """Those that were asked for: of 65,536 bins one takes seconds."""
        return {}

    def _function(self, place: int, level: float) -> DistributionFunction:
        if (place, level) not in self._functions:
            self._functions[place, level] = self._estimated_function(place, level)
        return self._functions[place, level]

    def _estimated_function(self, place: int, level: float) -> DistributionFunction:
        domain = self.estimator.workload.domain
        attribute = domain.attributes[place]
        assert isinstance(attribute, Ordered)
        # The prefix of all types is known.
        whole = attribute.bins == attribute.size
        every = unnamed_prefixes(domain, place, attribute.bins - whole)
        asked = self._asked(every)
        values = asked.unbiased(self.aggregate)
        best = None if self.guess is None else asked.workload.operator.matvec(self.guess.histogram)
        places = self._looked_at(len(every))
        some = self._asked([prefix_box(domain, place, int(x)) for x in places])
        return self._function_of(some, values, places, level, best=best)

    def _function_of(
        self,
        some: LinearEstimator,
        values: Floats,
        places: Indices,
        level: float,
        shift: float = 0.0,
        best: Floats | None = None,
    ) -> DistributionFunction:
        """From `values` (bins − 1,), of which `some` answers those at `places` (m,); the function is `shift` higher.

        `best` (bins − 1,) are those of the best guess. Where errors are normal, ends are cut by what a band of all
        bins says of a function that never falls.
        """
        bias, compared = self._bias(some), prefix_count(some.workload.domain)
        found = some.estimate_among(self.nearest, self.aggregate, level, compared, bias)
        errors, band = some.errors_among(self.nearest, self.users, level, bias), found.reliability.band

        def every(ends: Ends) -> Floats:
            return filled_in(values, places, np.stack(ends, axis=1)) + shift

        def of_few(of: Callable[[Floats, float], Ends]) -> FunctionEnds:
            # An end of one bin may err with (1 − level)/4, see `FunctionEnds`.
            one = normal_quantile((1 + level) / 2)
            return FunctionEnds(every(of(values[places], one)), every(of(values[places], band.quantile)))

        def ends(about: Floats, of: Callable[[Floats, float], Ends]) -> FunctionEnds:
            if band.outer is None:
                return of_few(of)
            inner = normal_quantile(1 - (1 - level) * (1 - OUTER_SHARE))
            asked = (inner, band.quantile, band.outer)
            return rising_ends(*(every(around(values[places], z, about, bias)) for z in asked)) or of_few(of)

        reporters = ends(errors.standard, errors.widened)
        population = ends(errors.of_population, errors.for_population)
        return DistributionFunction.of(values + shift, reporters, population, found.warnings, best)

    def sums(self, rows: Sequence[BoxSum], level: float) -> SumErrors:
        labels = [each[0][1].label for each in rows]
        return self.errors_of_rows(rows_of(rows, self.estimator.workload.domain.shape), labels.__getitem__, level)

    def errors_of_rows(self, operator: LinearMap, label: Callable[[int], str], level: float) -> SumErrors:
        """Answers to rows over the types of the plan, with their errors; raises EstimationError as `sums` does."""
        asked = self.asked(operator, label)
        _ = self._bias(asked)
        plausible = smoothed(self.nearest.histogram, self.users, normal_quantile(level))
        return SumErrors(
            answers=asked.unbiased(self.aggregate),
            noise=asked.law.mixed_variances(plausible),
            drawn=np.maximum(operator.squared_matvec(plausible) - operator.matvec(plausible) ** 2, 0.0),
            bias=asked.law.profile().bias,
            users=self.users,
        )

    def combinations(self, rows: Sequence[BoxSum], labels: Sequence[str], level: float) -> LinearEstimate:
        asked = self.asked(rows_of(rows, self.estimator.workload.domain.shape), labels.__getitem__)
        return asked.estimate_among(self.nearest, self.aggregate, level, len(rows), self._bias(asked))

    def group_quantile(self, question: Quantile, group: Box, level: float) -> Quantiles:
        """By tests of N(x) − share·D ≥ 0 for the users N(x) of the group up to bin x and all D of it: no ratio."""
        domain, share = self.estimator.workload.domain, question.share
        attribute = domain.attributes[question.attribute]
        assert isinstance(attribute, Ordered)
        whole = attribute.bins == attribute.size
        prefixes = unnamed_prefixes(domain, question.attribute, attribute.bins - whole)
        every = [box for box in (meet(prefix, group) for prefix in prefixes) if box is not None]
        asked = self._asked([*every, group])
        found = asked.unbiased(self.aggregate)
        values, places = found[:-1] - share * found[-1], self._looked_at(len(every))
        best = None if self.guess is None else _among(asked.workload.operator.matvec(self.guess.histogram), share)
        tested = rows_of([[(1.0, every[x]), (-share, group)] for x in places.tolist()], domain.shape)
        some = self.asked(tested, lambda place: f"{question.label} given {group.label}")
        return self._function_of(some, values, places, level, share, best).quantile(share)

    def quantile_of_rows(self, rows: Floats, whole: Floats, share: float, level: float, label: str) -> Quantiles:
        """The bins that may be a quantile among some users, from rows of those at or below each bin but the last.

        `rows` (b, k) and `whole` (k,), all of these users. Raises EstimationError.
        """
        some = self.asked(Dense(rows - share * whole), lambda place: label)
        values = some.unbiased(self.aggregate)
        return self._function_of(some, values, np.arange(len(values)), level, share).quantile(share)

    def distribution(self, place: int) -> LinearEstimator:
        """The plan made ready for all steps of the distribution function of an ordered attribute; raises as `asked`."""
        domain = self.estimator.workload.domain
        attribute = domain.attributes[place]
        assert isinstance(attribute, Ordered)
        # The prefix of all types is known.
        steps = attribute.bins - (attribute.bins == attribute.size)
        prefixes = unnamed_prefixes(domain, place, steps)
        boxes = [replace(each, label=interval_label(attribute, 0, last)) for last, each in enumerate(prefixes)]
        found = self._asked(boxes)
        _ = self._bias(found)
        return found

    def asked(self, operator: LinearMap, label: Callable[[int], str]) -> LinearEstimator:
        """The plan made ready for other rows; raises EstimationError where its queries do not determine one."""
        plan = self.estimator
        workload = replace(plan.workload, operator=operator, name_query=label)
        decoder = derived_decoder(plan.decoder, plan.device.randomizer, plan.workload, workload)
        return plan.for_queries(workload, decoder, answer_moments(plan.device.randomizer, decoder, workload))

    def _looked_at(self, bins: int) -> Indices:
        """The prefixes (m,) whose standard errors are worked out."""
        return looked_at(bins)

    def _asked(self, boxes: Sequence[Box]) -> LinearEstimator:
        return self.asked(Boxes(boxes, self.estimator.workload.domain.shape), lambda query: boxes[query].label)

    def check_bias(self, estimator: LinearEstimator) -> None:
        """Raise EstimationError where an answer that is asked has a bias which is no rounding."""
        _ = self._bias(estimator)

    def _bias(self, estimator: LinearEstimator) -> float:
        """The largest bias of the asked answers; raises EstimationError where that is no rounding."""
        profile, plan = estimator.law.profile(), self.estimator.analyst.figures
        most = np.maximum(_MOST_BIAS * np.sqrt(profile.variance), 2 * plan.bias_bound)
        if (profile.bias > most).any():
            label = estimator.workload.label(int((profile.bias - most).argmax()))
            raise EstimationError(
                f"the reports of this plan do not determine the answer to {label!r}: make a plan for a workload that "
                "asks it"
            )
        return float(profile.bias.max())
