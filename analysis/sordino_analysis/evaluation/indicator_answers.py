"""Answers of queries of zeros and ones from reports that are sets of cells, in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import ScaledHistogramDecoder, SubsetDecoder, ToHistogram
from sordino_analysis.evaluation.accumulator_moments import (
    AccumulatorMoments,
    ExchangeableMoments,
    SizeMixtureMoments,
)
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile, check_dense
from sordino_analysis.evaluation.linear_answers import histogram_root
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.vectorized.arrays import ndarray


@dataclass(frozen=True, eq=False)
class _ZeroOneAnswers(AnswerMoments):
    """Rows of zeros and ones on a set's indicators: Var_q(x) = `base`_q + `step`_q·W_qx, without forming W."""

    workload: Workload
    law: AccumulatorMoments
    decoder: ToHistogram

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        base, step = self._coefficients
        worst = np.maximum(base, base + step)
        weights = self.workload.query_weights
        mean = (base @ weights + self.workload.operator.rmatvec(weights * step)) / self.workload.queries
        return ErrorProfile(worst, self._bias(), np.maximum(mean, 0.0), weights)

    def mixed_variances(self, histogram: Floats) -> Floats:
        base, step = self._coefficients
        return np.asarray(np.maximum(base * histogram.sum() + step * self.workload.operator.matvec(histogram), 0.0))

    def variance_slopes(self, histogram: Floats) -> Floats:
        return self._coefficients[1]

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        base, step = self._coefficients
        return np.maximum(base[:, None] + step[:, None] * self.workload.operator.dense(), 0.0)

    def decode(self, mean: Floats) -> Floats:
        return self.decoder.answers(self.workload.operator, mean)

    def covariance_root(self, histogram: Floats) -> Floats | None:
        return histogram_root(self.workload, self.law, self.decoder, histogram)

    @cached_property
    @abstractmethod
    def _coefficients(self) -> tuple[Floats, Floats]:
        """`base` and `step`, (Q,) each."""

    @abstractmethod
    def _bias(self) -> Floats:
        """(Q,) a bound on the bias for all types."""

    def _sums(self) -> Floats:
        return self.workload.operator.matvec(np.ones(self.workload.size))


@dataclass(frozen=True, eq=False)
class IndicatorAnswers(_ZeroOneAnswers):
    """One size, and a decoder of one slope."""

    law: ExchangeableMoments
    decoder: ScaledHistogramDecoder

    @cached_property
    def _coefficients(self) -> tuple[Floats, Floats]:
        return self._of_sums(self._sums())

    def _of_sums(self, sums: Floats) -> tuple[Floats, Floats]:
        """`base` and `step` of queries of so many types, (m,) each."""
        slope = self.decoder.slope
        base = self.law.spread * sums + self.law.shared * sums**2
        return slope**2 * base, slope**2 * (self.law.cross * sums + self.law.square)

    def _bias(self) -> Floats:
        """|a·Σ_y W_qy + b·W_qx| for E ĥ = h + a + b·h, with a and b exact: only the decoder's rounding is left."""
        slope, offset = Fraction(self.decoder.slope), Fraction(self.decoder.offset)
        shift = float(offset + slope * self.law.other)
        stretch = float(slope * (self.law.own - self.law.other) - 1)
        return np.asarray(np.abs(shift) * self._sums() + abs(stretch))


@dataclass(frozen=True, eq=False)
class MixedIndicatorAnswers(_ZeroOneAnswers):
    """Several sizes: given size s, the answer is slope·|S ∩ q| + offset·s·|q|, whose law depends on W_qx alone."""

    law: SizeMixtureMoments
    decoder: SubsetDecoder

    @cached_property
    def _coefficients(self) -> tuple[Floats, Floats]:
        sums = self._sums()
        outside, inside = (self._second_moments(sums, member) for member in (0.0, 1.0))
        base = outside - self._mean(sums, 0.0) ** 2
        return base, inside - self._mean(sums, 1.0) ** 2 - base

    def _bias(self) -> Floats:
        sums = self._sums()
        return np.maximum(np.abs(self._mean(sums, 0.0)), np.abs(self._mean(sums, 1.0) - 1.0))

    def _second_moments(self, sums: Floats, member: float) -> Floats:
        total = np.zeros_like(sums)
        for chance, part, slope, mean in self._given_sizes(sums, member):
            spread = part.spread * sums + part.shared * sums**2 + member * (part.cross * sums + part.square)
            total += chance * (slope**2 * spread + mean**2)
        return total

    def _mean(self, sums: Floats, member: float) -> Floats:
        weighted = [chance * mean for chance, _, _, mean in self._given_sizes(sums, member)]
        return np.asarray(np.sum(weighted, axis=0))

    def _given_sizes(self, sums: Floats, member: float) -> Iterator[tuple[float, ExchangeableMoments, float, Floats]]:
        """Chance, law, slope and mean answer of every size, for a type that is in the query (`member` 1) or is not."""
        k = self.workload.size
        slopes, offsets = ndarray(self.decoder.slopes).tolist(), ndarray(self.decoder.offsets).tolist()
        for chance, part, slope, offset in zip(self.law.chances, self.law.parts, slopes, offsets, strict=True):
            size = float(part.own + (k - 1) * part.other)
            inclusion = float(part.other) * sums + float(part.own - part.other) * member
            yield chance, part, slope, slope * inclusion + offset * size * sums
