"""Exact variances and biases of the answers that a shipped randomizer and its decoder give, without sampling."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.decoders import (
    AnswerDecoder,
    CharacterDecoder,
    Decoder,
    HistogramDecoder,
    ScaledHistogramDecoder,
    SubsetDecoder,
)
from sordino_analysis.evaluation.accumulator_moments import (
    AccumulatorMoments,
    ExchangeableMoments,
    SizeMixtureMoments,
    accumulator_moments,
)
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile, check_dense
from sordino_analysis.evaluation.orbit_answers import orbit_answers
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import OrbitKernel, Randomizer

_ToHistogram = HistogramDecoder | ScaledHistogramDecoder | SubsetDecoder
_Linear = AnswerDecoder | _ToHistogram

# Rows that are decoded at once: 32 MiB of doubles in each of a handful of arrays.
_BLOCK_ENTRIES = 1 << 22
# A bias below this share of one user's standard deviation is below the sampling error of a million users.
_NEGLIGIBLE_BIAS = 1e-3
# An eigenproblem of 2048 takes seconds.
_MAX_ROOT_RANK = 2048
_MAX_ROOT_ENTRIES = 1 << 24
_RANK = 1e-13


def answer_moments(randomizer: Randomizer, decoder: Decoder, workload: Workload) -> AnswerMoments:
    """The law of the answers; raises InvalidValue where randomizer, decoder and workload do not fit together."""
    decoder = expand_weighted(decoder, randomizer, workload)
    if isinstance(randomizer, OrbitKernel) or isinstance(decoder, CharacterDecoder):
        return orbit_answers(randomizer, decoder, workload)
    _check_shapes(randomizer, decoder, workload)
    law = accumulator_moments(randomizer)
    if (
        workload.operator.zero_one
        and isinstance(law, ExchangeableMoments)
        and isinstance(decoder, ScaledHistogramDecoder)
    ):
        return _IndicatorAnswers(workload, law, decoder)
    if workload.operator.zero_one and isinstance(law, SizeMixtureMoments) and isinstance(decoder, SubsetDecoder):
        return _MixedIndicatorAnswers(workload, law, decoder)
    return _BlockwiseAnswers(workload, law, decoder)


def type_variances(device: DevicePart, decoder: Decoder, workload: Workload) -> Floats:
    """Var of one user's contribution to each answer, for each type: (Q, k), constant queries included (as zeros)."""
    return answer_moments(device.randomizer, decoder, workload).type_variances()


def counts_as_unbiased(figures: ErrorFigures) -> bool:
    """Whether the bias is rounding only: less than a thousandth of one user's standard deviation."""
    return figures.bias_bound <= _NEGLIGIBLE_BIAS * math.sqrt(figures.max_variance)


def decoded_histogram(decoder: _ToHistogram, mean: Floats) -> Floats:
    """ĥ (k,) from the mean statistic s̄ (p,)."""
    if isinstance(decoder, SubsetDecoder):
        by_size = mean.reshape(decoder.slopes.shape[0], -1)
        return np.asarray(decoder.slopes.numpy() @ by_size + decoder.offsets.numpy() @ by_size.sum(axis=1))
    if isinstance(decoder, HistogramDecoder):
        return np.asarray(decoder.offset.numpy() + decoder.matrix.numpy() @ mean)
    return decoder.offset + decoder.slope * mean


def decoded_rows(decoder: _Linear, workload: Workload, start: int, stop: int) -> tuple[Floats, Floats]:
    """Rows start ≤ q < stop of the map answers = offset + F s̄: F (b, p) and offset (b,)."""
    if isinstance(decoder, AnswerDecoder):
        return decoder.matrix.numpy()[start:stop], decoder.offset.numpy()[start:stop]
    rows = workload.operator.rows(start, stop)
    if isinstance(decoder, HistogramDecoder):
        return rows @ decoder.matrix.numpy(), rows @ decoder.offset.numpy()
    if isinstance(decoder, SubsetDecoder):
        sums, pairs = rows.sum(axis=1, keepdims=True), zip(decoder.slopes.numpy(), decoder.offsets.numpy(), strict=True)
        return np.hstack([slope * rows + offset * sums for slope, offset in pairs]), np.zeros(len(rows))
    return decoder.slope * rows, decoder.offset * rows.sum(axis=1)


@dataclass(frozen=True, eq=False)
class _BlockwiseAnswers(AnswerMoments):
    """Any randomizer and decoder, by dense blocks of rows."""

    workload: Workload
    law: AccumulatorMoments
    decoder: _Linear

    def profile(self) -> ErrorProfile:
        queries, size = self.workload.operator.shape
        variance, bias, total = np.zeros(queries), np.zeros(queries), np.zeros(size)
        weights = self.workload.query_weights
        for start, stop, rows, offset in self._blocks():
            varying = np.isin(np.arange(start, stop), self.workload.varying_rows)
            found = np.where(varying[:, None], self._variances(rows), 0.0)
            wrong = np.abs(self.law.means(rows) + offset[:, None] - self.workload.operator.rows(start, stop))
            variance[start:stop] = found.max(axis=1)
            bias[start:stop] = np.where(varying, wrong.max(axis=1) + self.law.mean_error(rows), 0.0)
            total += weights[start:stop] @ found
        return ErrorProfile(variance, bias, total / len(self.workload.varying_rows), weights)

    def mixed_variances(self, histogram: Floats) -> Floats:
        mixed = np.zeros(self.workload.queries)
        for start, stop, rows, _ in self._blocks():
            mixed[start:stop] = self._variances(rows) @ histogram
        return self._without_constants(mixed)

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        blocks = [self._variances(rows) for _, _, rows, _ in self._blocks()]
        return self._without_constants(np.vstack(blocks))

    def covariance_root(self, histogram: Floats) -> Floats | None:
        if isinstance(self.decoder, AnswerDecoder):
            rows = self.decoder.matrix.numpy()
            queries, statistic = rows.shape
            if not _root_fits(queries, min(queries, statistic)):
                return None
            if statistic < queries:
                return np.asarray(rows @ _root(self.law.covariance(np.eye(statistic), histogram)))
            return self._without_constants(_root(self.law.covariance(rows, histogram)))
        return _histogram_root(self.workload, self.law, self.decoder, histogram)

    def _variances(self, rows: Floats) -> Floats:
        return np.maximum(self.law.variances(rows), 0.0)

    def _blocks(self) -> Iterator[tuple[int, int, Floats, Floats]]:
        queries, size = self.workload.operator.shape
        width = _statistic_size(self.decoder, size)
        step = max(1, _BLOCK_ENTRIES // max(size, width))
        for start in range(0, queries, step):
            stop = min(start + step, queries)
            yield start, stop, *decoded_rows(self.decoder, self.workload, start, stop)

    def _without_constants(self, values: Floats) -> Floats:
        constant = np.ones(self.workload.queries, dtype=bool)
        constant[self.workload.varying_rows] = False
        values[constant] = 0.0
        return values


@dataclass(frozen=True, eq=False)
class _ZeroOneAnswers(AnswerMoments):
    """Rows of zeros and ones on a set's indicators: Var_q(x) = `base`_q + `step`_q·W_qx, without forming W."""

    workload: Workload

    def profile(self) -> ErrorProfile:
        base, step = self._coefficients()
        worst = np.maximum(base, base + step)
        weights = self.workload.query_weights
        mean = (base @ weights + self.workload.operator.rmatvec(weights * step)) / self.workload.queries
        return ErrorProfile(worst, self._bias(), np.maximum(mean, 0.0), weights)

    def mixed_variances(self, histogram: Floats) -> Floats:
        base, step = self._coefficients()
        return np.asarray(np.maximum(base * histogram.sum() + step * self.workload.operator.matvec(histogram), 0.0))

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        base, step = self._coefficients()
        return np.maximum(base[:, None] + step[:, None] * self.workload.operator.dense(), 0.0)

    @abstractmethod
    def _coefficients(self) -> tuple[Floats, Floats]:
        """`base` and `step`, (Q,) each."""

    @abstractmethod
    def _bias(self) -> Floats:
        """(Q,) a bound on the bias for all types."""

    def _sums(self) -> Floats:
        return self.workload.operator.matvec(np.ones(self.workload.size))


@dataclass(frozen=True, eq=False)
class _IndicatorAnswers(_ZeroOneAnswers):
    """One size, and a decoder of one slope."""

    law: ExchangeableMoments
    decoder: ScaledHistogramDecoder

    def covariance_root(self, histogram: Floats) -> Floats | None:
        return _histogram_root(self.workload, self.law, self.decoder, histogram)

    def _coefficients(self) -> tuple[Floats, Floats]:
        sums, slope = self._sums(), self.decoder.slope
        base = self.law.spread * sums + self.law.shared * sums**2
        return slope**2 * base, slope**2 * (self.law.cross * sums + self.law.square)

    def _bias(self) -> Floats:
        """|a·Σ_y W_qy + b·W_qx| for E ĥ = h + a + b·h, with a and b exact: only the decoder's rounding is left."""
        slope, offset = Fraction(self.decoder.slope), Fraction(self.decoder.offset)
        shift = float(offset + slope * self.law.other)
        stretch = float(slope * (self.law.own - self.law.other) - 1)
        return np.asarray(np.abs(shift) * self._sums() + abs(stretch))


@dataclass(frozen=True, eq=False)
class _MixedIndicatorAnswers(_ZeroOneAnswers):
    """Several sizes: given size s, the answer is slope·|S ∩ q| + offset·s·|q|, whose law depends on W_qx alone."""

    law: SizeMixtureMoments
    decoder: SubsetDecoder

    def covariance_root(self, histogram: Floats) -> Floats | None:
        return _histogram_root(self.workload, self.law, self.decoder, histogram)

    def _coefficients(self) -> tuple[Floats, Floats]:
        sums = self._sums()
        outside, inside = (self._second_moments(sums, held) for held in (0.0, 1.0))
        base = outside - self._mean(sums, 0.0) ** 2
        return base, inside - self._mean(sums, 1.0) ** 2 - base

    def _bias(self) -> Floats:
        sums = self._sums()
        return np.maximum(np.abs(self._mean(sums, 0.0)), np.abs(self._mean(sums, 1.0) - 1.0))

    def _second_moments(self, sums: Floats, held: float) -> Floats:
        total = np.zeros_like(sums)
        for chance, part, slope, mean in self._given_sizes(sums, held):
            spread = part.spread * sums + part.shared * sums**2 + held * (part.cross * sums + part.square)
            total += chance * (slope**2 * spread + mean**2)
        return total

    def _mean(self, sums: Floats, held: float) -> Floats:
        weighted = [chance * mean for chance, _, _, mean in self._given_sizes(sums, held)]
        return np.asarray(np.sum(weighted, axis=0))

    def _given_sizes(self, sums: Floats, held: float) -> Iterator[tuple[float, ExchangeableMoments, float, Floats]]:
        """Chance, law, slope and mean answer of every size, for a type that is in the query (`held` 1) or is not."""
        k = self.workload.size
        slopes, offsets = self.decoder.slopes.numpy().tolist(), self.decoder.offsets.numpy().tolist()
        for chance, part, slope, offset in zip(self.law.chances, self.law.parts, slopes, offsets, strict=True):
            size = float(part.own + (k - 1) * part.other)
            inclusion = float(part.other) * sums + float(part.own - part.other) * held
            yield chance, part, slope, slope * inclusion + offset * size * sums


def _histogram_root(
    workload: Workload, law: AccumulatorMoments, decoder: _ToHistogram, histogram: Floats
) -> Floats | None:
    if not _root_fits(workload.queries, workload.size):
        return None
    if isinstance(decoder, ScaledHistogramDecoder):
        rows = decoder.slope * np.eye(workload.size)
    elif isinstance(decoder, SubsetDecoder):
        pairs = zip(decoder.slopes.numpy(), decoder.offsets.numpy(), strict=True)
        rows = np.hstack([slope * np.eye(workload.size) + offset for slope, offset in pairs])
    else:
        rows = decoder.matrix.numpy()
    return workload.operator.matvec(_root(law.covariance(rows, histogram)))


def _root(covariance: Floats) -> Floats:
    """A with A·Aᵀ = the covariance; eigenvalues that rounding made negative are zero."""
    eigenvalues, basis = np.linalg.eigh(covariance)
    kept = eigenvalues > _RANK * eigenvalues[-1]
    return np.asarray(basis[:, kept] * np.sqrt(eigenvalues[kept]))


def _root_fits(queries: int, rank: int) -> bool:
    return rank <= _MAX_ROOT_RANK and queries * rank <= _MAX_ROOT_ENTRIES


def _check_shapes(randomizer: Randomizer, decoder: _Linear, workload: Workload) -> None:
    size = workload.size
    if randomizer.size != size:
        raise InvalidValue(f"the randomizer is for {randomizer.size} types, the workload for {size}", randomizer)
    height = workload.queries if isinstance(decoder, AnswerDecoder) else size
    actual = (_height(decoder, size), _statistic_size(decoder, size))
    if actual != (height, randomizer.accumulator_size):
        raise InvalidValue(
            f"the decoder has shape {actual}, the randomizer and workload need {(height, randomizer.accumulator_size)}",
            decoder,
        )


def _height(decoder: _Linear, size: int) -> int:
    return size if isinstance(decoder, (ScaledHistogramDecoder, SubsetDecoder)) else decoder.matrix.shape[0]


def _statistic_size(decoder: _Linear, size: int) -> int:
    """p, the statistic that the decoder is for."""
    if isinstance(decoder, ScaledHistogramDecoder):
        return size
    return decoder.slopes.shape[0] * size if isinstance(decoder, SubsetDecoder) else decoder.matrix.shape[1]
