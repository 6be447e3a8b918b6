"""Decoders of finite kernels by type weights: some numbers for each group of queries in place of one for each output.

For a fixed kernel the least worst variance of a query is a saddle, min over decoders and max over type weights π of
Σ π_x Var(x), so the best decoder is least squares under the best π. That is concave in π, and weights are found query
by query; neighbouring queries share theirs.
"""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import AnswerDecoder, Decoder, PlainDecoder, WeightedDecoder
from sordino_analysis.documents.string_queries import StringsDecoder
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.optimisation.search.objectives import information
from sordino_analysis.questions.linear import Workload
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FiniteKernel, Randomizer

# 512 MiB of doubles: a few numbers on the wire must not become more than that.
_LARGEST_ENTRIES = 1 << 26


def expand_weighted(decoder: Decoder, randomizer: Randomizer, workload: Workload) -> PlainDecoder:
    """The same decoder without type weights: V_q = W_q N(π of its group) where it has them.

    Raises InvalidValue where randomizer, decoder and workload do not fit together.
    """
    if isinstance(decoder, StringsDecoder):
        raise InvalidValue("a plan that finds strings answers no linear queries", decoder)
    if not isinstance(decoder, WeightedDecoder):
        return decoder
    table, groups = probabilities(_checked(decoder, randomizer, workload)), ndarray(decoder.groups)
    rows = np.empty((workload.queries, len(table)))
    for group, type_weights in enumerate(ndarray(decoder.type_weights)):
        queries = np.flatnonzero(groups == group)
        wanted, found = workload.operator.take(queries), information(table, type_weights)
        rows[queries] = (found.scaled @ found.solve(wanted.T)).T
        # The ridge that keeps M invertible leaves a bias; what it leaves is decoded once more.
        rows[queries] += (found.scaled @ found.solve((wanted - rows[queries] @ table).T)).T
    return AnswerDecoder(array_of(rows, "<f8"), array_of(np.zeros(len(rows)), "<f8"))


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
