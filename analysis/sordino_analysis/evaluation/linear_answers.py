"""Answers of any linear decoder by dense blocks of rows, and square roots of their covariance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import LinearDecoder, PlainDecoder, ToHistogram
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.answer_moments import (
    AnswerMoments,
    BlanketMoments,
    ErrorProfile,
    check_dense,
    regression_slopes,
)
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Randomizer

# Rows that are decoded at once: 32 MiB of doubles in each of a handful of arrays.
_BLOCK_ENTRIES = 1 << 22
# An eigenproblem of 2048 takes seconds.
_MAX_ROOT_RANK = 2048
# Entries of a root of the Gram matrix: 128 MiB.
_MAX_ROOT_ENTRIES = 1 << 24
# Eigenvalues below this share of the largest are rounding.
_RANK = 1e-13
# Entries of a W whose pseudoinverse takes a fraction of a second.
_MAX_LEAST_SQUARES = 1 << 18


def linear_decoder(decoder: PlainDecoder, randomizer: Randomizer, workload: Workload) -> LinearDecoder:
    """The decoder itself; raises InvalidValue where randomizer, decoder and workload do not fit together."""
    if not isinstance(decoder, LinearDecoder):
        raise InvalidValue("a decoder of characters goes with an orbit kernel only", decoder)
    types = workload.size
    randomizer.check_domain(workload.domain.shape)
    expected = decoder.height(workload.queries, types), randomizer.accumulator_size
    if decoder.shape(types) != expected:
        raise InvalidValue(
            f"the decoder has shape {decoder.shape(types)}, the randomizer and workload need {expected}", decoder
        )
    return decoder


def decoded_blocks(decoder: LinearDecoder, workload: Workload) -> Iterator[tuple[int, int, Floats, Floats]]:
    """(start, stop, F, offset) for blocks of queries: answers[start:stop] = offset + F s̄."""
    step = max(1, _BLOCK_ENTRIES // max(workload.size, decoder.shape(workload.size)[1]))
    for start in range(0, workload.queries, step):
        stop = min(start + step, workload.queries)
        yield start, stop, *decoder.rows(workload.operator, start, stop)


@dataclass(frozen=True, eq=False)
class LinearAnswers(AnswerMoments):
    """Any randomizer whose accumulator has known moments, with any linear decoder."""

    workload: Workload
    law: AccumulatorMoments
    decoder: LinearDecoder

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        queries, size = self.workload.operator.shape
        variance, bias, total = np.zeros(queries), np.zeros(queries), np.zeros(size)
        weights = self.workload.query_weights
        for start, stop, rows, offset in decoded_blocks(self.decoder, self.workload):
            varying = np.isin(np.arange(start, stop), self.workload.varying_rows)
            found = np.where(varying[:, None], self._variances(rows), 0.0)
            wrong = np.abs(self.law.means(rows) + offset[:, None] - self.workload.operator.rows(start, stop))
            variance[start:stop] = found.max(axis=1)
            bias[start:stop] = np.where(varying, wrong.max(axis=1) + self.law.mean_error(rows), 0.0)
            total += weights[start:stop] @ found
            progress(Progress(stop / queries))
        return ErrorProfile(variance, bias, total / len(self.workload.varying_rows), weights)

    def blanket(self) -> BlanketMoments:
        mean, variance = np.zeros(self.workload.queries), np.zeros(self.workload.queries)
        for start, stop, rows, offset in decoded_blocks(self.decoder, self.workload):
            centre, variance[start:stop] = self.law.blanket(rows)
            mean[start:stop] = centre + offset
        constant = np.setdiff1d(np.arange(self.workload.queries), self.workload.varying_rows)
        mean[constant] = self.workload.operator.take(constant)[:, 0] if len(constant) else 0.0
        return BlanketMoments(mean, self._without_constants(variance))

    def mixed_variances(self, histogram: Floats) -> Floats:
        mixed = np.zeros(self.workload.queries)
        for start, stop, rows, _ in decoded_blocks(self.decoder, self.workload):
            mixed[start:stop] = self._variances(rows) @ histogram
        return self._without_constants(mixed)

    def variance_slopes(self, histogram: Floats) -> Floats:
        root = self.covariance_root(histogram) if self._is_small else None
        if root is not None:
            return _ratio((root * self._moved_variances(root)).sum(axis=1), (root**2).sum(axis=1))
        slopes = np.zeros(self.workload.queries)
        for start, stop, rows, _ in decoded_blocks(self.decoder, self.workload):
            entries = self.workload.operator.rows(start, stop)
            slopes[start:stop] = regression_slopes(entries, self._variances(rows), histogram)
        return self._without_constants(slopes)

    def variance_scatter(self, histogram: Floats) -> Floats:
        root = self.covariance_root(histogram) if self._is_small else None
        if root is None:
            return super().variance_scatter(histogram)
        moved, spread = self._moved_variances(root), (root**2).sum(axis=1)
        explained = _ratio((root * moved).sum(axis=1) ** 2, spread)
        return np.asarray(np.sqrt(np.maximum((moved**2).sum(axis=1) - explained, 0.0)))

    def type_variances(self) -> Floats:
        check_dense(self.workload)
        blocks = [self._variances(rows) for _, _, rows, _ in decoded_blocks(self.decoder, self.workload)]
        return self._without_constants(np.vstack(blocks))

    def decode(self, mean: Floats) -> Floats:
        return self.decoder.answers(self.workload.operator, mean)

    def covariance_root(self, histogram: Floats) -> Floats | None:
        if isinstance(self.decoder, ToHistogram):
            return histogram_root(self.workload, self.law, self.decoder, histogram)
        rows, _ = self.decoder.rows(self.workload.operator, 0, self.workload.queries)
        queries, statistic = rows.shape
        if not root_fits(queries, min(queries, statistic)):
            return None
        if statistic < queries:
            return np.asarray(rows @ covariance_square_root(self.law.covariance(np.eye(statistic), histogram)))
        return self._without_constants(covariance_square_root(self.law.covariance(rows, histogram)))

    @property
    def _is_small(self) -> bool:
        return self.workload.queries * self.workload.size <= _MAX_LEAST_SQUARES

    def _moved_variances(self, root: Floats) -> Floats:
        """(Q, r) what errors of the answers, the columns of `root` (Q, r), add to their variances by least squares."""
        return np.asarray(self._every_variance @ (self._least_squares @ root))

    @cached_property
    def _every_variance(self) -> Floats:
        return self.type_variances()

    @cached_property
    def _least_squares(self) -> Floats:
        """(k, Q) W⁺ among histograms of one sum: the change of the histogram that explains one of the answers."""
        centred = self.workload.operator.dense()
        centred = centred - centred.mean(axis=1, keepdims=True)
        return np.linalg.pinv(centred)

    def _variances(self, rows: Floats) -> Floats:
        return np.maximum(self.law.variances(rows), 0.0)

    def _without_constants(self, values: Floats) -> Floats:
        constant = np.ones(self.workload.queries, dtype=bool)
        constant[self.workload.varying_rows] = False
        values[constant] = 0.0
        return values


def _ratio(above: Floats, below: Floats) -> Floats:
    """(Q,) above/below, 0 where there is no error."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(below), where=below > 0))


def histogram_root(
    workload: Workload, law: AccumulatorMoments, decoder: ToHistogram, histogram: Floats
) -> Floats | None:
    """A (Q, r) with A·Aᵀ = W Cov(ĥ) Wᵀ for users who are spread as the histogram; None where it would be too large."""
    if not root_fits(workload.queries, workload.size):
        return None
    return workload.operator.matvec(
        covariance_square_root(law.covariance(decoder.histogram_rows(workload.size), histogram))
    )


def covariance_square_root(covariance: Floats) -> Floats:
    """A (Q, r) with A·Aᵀ = `covariance` (Q, Q); eigenvalues that rounding made negative are zero."""
    eigenvalues, basis = np.linalg.eigh(covariance)
    kept = eigenvalues > _RANK * eigenvalues[-1]
    return np.asarray(basis[:, kept] * np.sqrt(eigenvalues[kept]))


def root_fits(queries: int, rank: int) -> bool:
    """Whether a square root of so many rows and columns takes seconds and not minutes."""
    return rank <= _MAX_ROOT_RANK and queries * rank <= _MAX_ROOT_ENTRIES
