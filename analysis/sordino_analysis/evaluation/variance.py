"""Exact variances and biases of the answers that a shipped randomizer and its decoder give, without sampling."""

from __future__ import annotations

import math

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.decoders import Decoder
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.questions.linear import Workload
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer

# A bias below this share of one user's standard deviation is below the sampling error of a million users.
_NEGLIGIBLE_BIAS = 1e-3


def answer_moments(randomizer: AnyRandomizer, decoder: Decoder, workload: Workload) -> AnswerMoments:
    """The moments of the answers; raises InvalidValue where randomizer, decoder and workload do not fit together."""
    return for_randomizer(randomizer).answer_moments(expand_weighted(decoder, randomizer, workload), workload)


def type_variances(device: DevicePart, decoder: Decoder, workload: Workload) -> Floats:
    """Var of one user's contribution to each answer, for each type: (Q, k), constant queries included (as zeros)."""
    return answer_moments(device.randomizer, decoder, workload).type_variances()


def counts_as_unbiased(figures: ErrorFigures) -> bool:
    """Whether the bias is rounding only: less than a thousandth of one user's standard deviation."""
    return figures.bias_bound <= _NEGLIGIBLE_BIAS * math.sqrt(figures.max_variance)
