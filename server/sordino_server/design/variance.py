"""Exact variances and biases of the answers that a shipped randomizer and its decoder give, without sampling."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.laws import ExchangeableLaw, StatisticLaw, statistic_law
from sordino_server.design.workloads import TooLargeForDense, Workload
from sordino_server.design.workloads.operators import DENSE_LIMIT, Dense
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import (
    AnswerDecoder,
    Decoder,
    DevicePart,
    Figures,
    HistogramDecoder,
    ScaledHistogramDecoder,
)
from sordino_shared.randomizers import Randomizer

# Rows that are decoded at once: 32 MiB of doubles in each of a handful of arrays.
_BLOCK_ENTRIES = 1 << 22
# A bias below this share of one user's standard deviation is below the sampling error of a million users.
_NEGLIGIBLE_BIAS = 1e-3
# An eigenproblem of 2048 takes seconds.
_MAX_ROOT_RANK = 2048
_MAX_ROOT_ENTRIES = 1 << 24
_RANK = 1e-13


@dataclass(frozen=True, eq=False)
class ErrorProfile:
    """One user's error, query by query: `variance` (Q,) is the largest over types, `bias` (Q,) a bound for all types.

    `type_variance` (k,) is the mean over the varying queries, for each type.
    """

    variance: Floats
    bias: Floats
    type_variance: Floats

    def figures(self) -> Figures:
        """The three numbers that a plan publishes."""
        return Figures(float(self.variance.max()), float(self.type_variance.max()), float(self.bias.max()))

    def rmse(self, users: int) -> Floats:
        """(Q,) root mean squared error of each answer from `users` reports, for the worst histogram."""
        return np.asarray(np.sqrt(self.variance / users + self.bias**2))


class AnswerLaw(ABC):
    """The law of one user's contribution to the answers of a workload."""

    workload: Workload

    @abstractmethod
    def profile(self) -> ErrorProfile:
        """Worst variance and bias of every query, mean variance of every type."""

    @abstractmethod
    def mixed_variances(self, histogram: Floats) -> Floats:
        """Σ_x h_x Var(answer | x) of every query, (Q,)."""

    @abstractmethod
    def type_variances(self) -> Floats:
        """Var(answer | x), (Q, k); raises TooLargeForDense."""

    @abstractmethod
    def covariance_root(self, histogram: Floats) -> Floats | None:
        """A (Q, r) with A·Aᵀ = Σ_x h_x Cov(answers | x); None where it would be too large."""


def answer_law(randomizer: Randomizer, decoder: Decoder, workload: Workload) -> AnswerLaw:
    """The law of the answers; raises InvalidValue where randomizer, decoder and workload do not fit together."""
    _check_shapes(randomizer, decoder, workload)
    law = statistic_law(randomizer)
    zeros_and_ones = not isinstance(workload.operator, Dense)
    if zeros_and_ones and isinstance(law, ExchangeableLaw) and isinstance(decoder, ScaledHistogramDecoder):
        return _IndicatorAnswers(workload, law, decoder)
    return _BlockwiseAnswers(workload, law, decoder)


def type_variances(device: DevicePart, decoder: Decoder, workload: Workload) -> Floats:
    """Var of one user's contribution to each answer, for each type: (Q, k), constant queries included (as zeros)."""
    return answer_law(device.randomizer, decoder, workload).type_variances()


def counts_as_unbiased(figures: Figures) -> bool:
    """Whether the bias is rounding only: less than a thousandth of one user's standard deviation."""
    return figures.bias_bound <= _NEGLIGIBLE_BIAS * math.sqrt(figures.max_variance)


def decoded_histogram(decoder: HistogramDecoder | ScaledHistogramDecoder, mean: Floats) -> Floats:
    """ĥ (k,) from the mean statistic s̄ (p,)."""
    if isinstance(decoder, HistogramDecoder):
        return np.asarray(decoder.offset.numpy() + decoder.matrix.numpy() @ mean)
    return decoder.offset + decoder.slope * mean


def decoded_rows(decoder: Decoder, workload: Workload, start: int, stop: int) -> tuple[Floats, Floats]:
    """Rows start ≤ q < stop of the map answers = offset + F s̄: F (b, p) and offset (b,)."""
    if isinstance(decoder, AnswerDecoder):
        return decoder.matrix.numpy()[start:stop], decoder.offset.numpy()[start:stop]
    rows = workload.operator.rows(start, stop)
    if isinstance(decoder, HistogramDecoder):
        return rows @ decoder.matrix.numpy(), rows @ decoder.offset.numpy()
    return decoder.slope * rows, decoder.offset * rows.sum(axis=1)


@dataclass(frozen=True, eq=False)
class _BlockwiseAnswers(AnswerLaw):
    """Any randomizer and decoder, by dense blocks of rows."""

    workload: Workload
    law: StatisticLaw
    decoder: Decoder

    def profile(self) -> ErrorProfile:
        queries, size = self.workload.operator.shape
        variance, bias, total = np.zeros(queries), np.zeros(queries), np.zeros(size)
        for start, stop, rows, offset in self._blocks():
            varying = np.isin(np.arange(start, stop), self.workload.varying_rows)
            found = np.where(varying[:, None], self._variances(rows), 0.0)
            wrong = np.abs(self.law.means(rows) + offset[:, None] - self.workload.operator.rows(start, stop))
            variance[start:stop] = found.max(axis=1)
            bias[start:stop] = np.where(varying, wrong.max(axis=1) + self.law.mean_error(rows), 0.0)
            total += found.sum(axis=0)
        return ErrorProfile(variance, bias, total / len(self.workload.varying_rows))

    def mixed_variances(self, histogram: Floats) -> Floats:
        mixed = np.zeros(self.workload.queries)
        for start, stop, rows, _ in self._blocks():
            mixed[start:stop] = self._variances(rows) @ histogram
        return self._without_constants(mixed)

    def type_variances(self) -> Floats:
        _check_dense(self.workload)
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
        width = size if isinstance(self.decoder, ScaledHistogramDecoder) else self.decoder.matrix.shape[1]
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
class _IndicatorAnswers(AnswerLaw):
    """Rows of zeros and ones on an exchangeable statistic: Var_q(x) = `base`_q + `step`_q·W_qx, without forming W."""

    workload: Workload
    law: ExchangeableLaw
    decoder: ScaledHistogramDecoder

    def profile(self) -> ErrorProfile:
        base, step = self._coefficients()
        worst = np.maximum(base, base + step)
        mean = base.mean() + self.workload.operator.rmatvec(step) / self.workload.queries
        return ErrorProfile(worst, self._bias(), np.maximum(mean, 0.0))

    def mixed_variances(self, histogram: Floats) -> Floats:
        base, step = self._coefficients()
        return np.asarray(np.maximum(base * histogram.sum() + step * self.workload.operator.matvec(histogram), 0.0))

    def type_variances(self) -> Floats:
        _check_dense(self.workload)
        base, step = self._coefficients()
        return np.maximum(base[:, None] + step[:, None] * self.workload.operator.dense(), 0.0)

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

    def _sums(self) -> Floats:
        return self.workload.operator.matvec(np.ones(self.workload.size))


def _histogram_root(
    workload: Workload, law: StatisticLaw, decoder: HistogramDecoder | ScaledHistogramDecoder, histogram: Floats
) -> Floats | None:
    if not _root_fits(workload.queries, workload.size):
        return None
    if isinstance(decoder, ScaledHistogramDecoder):
        rows = decoder.slope * np.eye(workload.size)
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


def _check_dense(workload: Workload) -> None:
    queries, size = workload.operator.shape
    if queries * size > DENSE_LIMIT:
        raise TooLargeForDense(f"{queries} × {size} variances exceed the limit of {DENSE_LIMIT}", workload.operator)


def _check_shapes(randomizer: Randomizer, decoder: Decoder, workload: Workload) -> None:
    queries, size = workload.operator.shape
    if randomizer.size != size:
        raise InvalidValue(f"the randomizer is for {randomizer.size} types, the workload for {size}", randomizer)
    statistic = randomizer.statistic_size
    height = queries if isinstance(decoder, AnswerDecoder) else size
    expected: tuple[int, ...] = (height, statistic)
    actual: tuple[int, ...]
    if isinstance(decoder, ScaledHistogramDecoder):
        expected, actual = (size,), (statistic,)
    else:
        actual = decoder.matrix.shape
    if expected != actual:
        raise InvalidValue(f"the decoder has shape {actual}, the randomizer and workload need {expected}", decoder)
