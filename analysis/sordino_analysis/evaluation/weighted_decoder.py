"""Decoders of finite kernels by type weights: some numbers for each group of queries in place of one for each output.

For a fixed kernel the least worst variance of a query is a saddle, min over decoders and max over type weights π of
Σ π_x Var(x), so the best decoder is least squares under the best π. That is concave in π, and weights are found query
by query; neighbouring queries share theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder, Decoder, PlainDecoder, WeightedDecoder
from sordino_analysis.evaluation.integer_kernels import histogram_rows, probabilities
from sordino_analysis.optimisation.search.objectives import gls_decoder, information, variances
from sordino_analysis.questions.linear import Workload
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FiniteKernel, Randomizer

# 512 MiB of doubles: a few numbers on the wire must not become more than that.
_LARGEST_ENTRIES = 1 << 26
# The matrix that is fitted is within some per mille of its kernel's best; steps end there or at its own worst variance.
_STEPS = 60
_EXPONENT = 2.0
_SHARPNESS = 400.0
_SHARE_OF_COMMON = 0.1
_MOST_LOSS = 2e-3
# Queries that a new group's weights are tried on, the worst ones first.
_TRIED = 1024


def expand_weighted(decoder: Decoder, randomizer: Randomizer, workload: Workload) -> PlainDecoder:
    """The same decoder without type weights: V_q = W_q N(π of its group) where it has them.

    Raises InvalidValue where randomizer, decoder and workload do not fit together.
    """
    if not isinstance(decoder, WeightedDecoder):
        return decoder
    table, groups = probabilities(_checked(decoder, randomizer, workload)), decoder.groups.numpy()
    rows = np.empty((workload.queries, len(table)))
    for group, type_weights in enumerate(decoder.type_weights.numpy()):
        queries = np.flatnonzero(groups == group)
        rows[queries] = workload.operator.take(queries) @ histogram_rows(table, type_weights)
    return AnswerDecoder(Array.of(rows, "<f8"), Array.of(np.zeros(len(rows)), "<f8"))


def weighted_decoder(
    kernel: FiniteKernel,
    decoder: AnswerDecoder,
    matrix: Floats,
    type_weights: Floats,
    should_stop: Callable[[], bool] = lambda: False,
) -> WeightedDecoder | None:
    """Type weights under which no answer to W has more variance than the worst of `decoder`, within 2 per mille.

    Queries that least squares under the common `type_weights` answers well enough share those. None once
    `should_stop()`, or where no such weights are found. `matrix` W (Q, k), `type_weights` (k,).
    """
    fit = _Fit(probabilities(kernel), decoder.matrix.numpy(), matrix, type_weights)
    while fit.worst.max() > fit.target:
        if should_stop() or not fit.add_group():
            return None
    return WeightedDecoder(Array.of(np.array(fit.weights), "<f8"), Array.of(fit.groups, "<i4"))


class _Fit:
    """Groups of type weights so far, each query's group, and its worst variance under that."""

    def __init__(self, table: Floats, decoder: Floats, matrix: Floats, type_weights: Floats) -> None:
        self.table, self.matrix = table, matrix
        self.aim = variances(table, decoder, matrix)
        self.target = self.most = float(self.aim.max())
        self.weights = [type_weights]
        self.groups: NDArray[np.int64] = np.zeros(len(matrix), dtype=np.int64)
        self.worst: Floats = variances(table, gls_decoder(table, matrix, type_weights), matrix).max(axis=1)

    def add_group(self) -> bool:
        """Weights for the worst query, given to all that they serve better; False where they are not good enough."""
        query = int(self.worst.argmax())
        reached, weights = self._best_weights(query)
        if reached > self.most * (1 + _MOST_LOSS):
            return False
        self.target = max(self.target, reached)
        self.weights.append(weights)
        tried = np.argsort(-self.worst, kind="stable")[:_TRIED]
        tried = tried[self.worst[tried] > self.target]
        found = variances(self.table, gls_decoder(self.table, self.matrix[tried], weights), self.matrix[tried])
        better = (found.max(axis=1) < self.worst[tried]) | (tried == query)
        served = tried[better]
        self.groups[served], self.worst[served] = len(self.weights) - 1, found.max(axis=1)[better]
        # The same weights for the query alone, or among others, differ by rounding.
        self.worst[query] = min(self.worst[query], self.target)
        return True

    def _best_weights(self, query: int) -> tuple[float, Floats]:
        """From where the decoder's own variance is largest, more weight on types above the rest until it will do."""
        row, aim = self.matrix[query], self.aim[query]
        weights = np.exp(_SHARPNESS * (aim - aim.max()) / self.most)
        weights = (1 - _SHARE_OF_COMMON) * weights / weights.sum() + _SHARE_OF_COMMON * self.weights[0]
        best, reached = weights, np.inf
        for _ in range(_STEPS):
            found = information(self.table, weights)
            variance = (found.scaled @ found.solve(row)) ** 2 @ self.table - row**2
            if variance.max() < reached:
                best, reached = weights, float(variance.max())
            if reached <= self.target:
                break
            weights = weights * np.maximum(variance / variance.max(), 1e-6) ** _EXPONENT
            weights /= weights.sum()
        return reached, best


def _checked(decoder: WeightedDecoder, randomizer: Randomizer, workload: Workload) -> FiniteKernel:
    if not isinstance(randomizer, FiniteKernel):
        raise InvalidValue("type weights decode finite kernels only", randomizer)
    actual = (decoder.groups.shape[0], decoder.type_weights.shape[1])
    if actual != (workload.queries, workload.size) or randomizer.size != workload.size:
        raise InvalidValue(
            f"the decoder is for {actual[0]} queries over {actual[1]} types, the workload has {workload.queries} over "
            f"{workload.size}, the randomizer is for {randomizer.size} types",
            decoder,
        )
    if workload.queries * randomizer.accumulator_size > _LARGEST_ENTRIES:
        raise InvalidValue(
            f"{workload.queries} × {randomizer.accumulator_size} entries of the decoder exceed the limit of "
            f"{_LARGEST_ENTRIES}",
            decoder,
        )
    return randomizer
