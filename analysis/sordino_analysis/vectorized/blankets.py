"""Random reports that a shuffler adds, many at once, by the laws of `sordino_shared.shuffling.laws`."""

from __future__ import annotations

import numpy as np

from sordino_analysis.vectorized.coarsened.reports import with_even_labels
from sordino_analysis.vectorized.payloads import Payloads
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import uniform_below, uniform_bits
from sordino_shared.randomizers import AnyRandomizer, Coarsened, SeededDirection
from sordino_shared.randomness import Randomness


def draw_blanket(randomizer: AnyRandomizer, count: int, randomness: Randomness) -> Payloads:
    """(count, width) payloads: of uniform types, or with a public part as devices draw it and a uniform output.

    Over all types shifts of an orbit kernel are uniform by themselves.
    """
    cells = uniform_below(randomness, randomizer.size, count).astype(np.int64)
    payloads = randomize_many(randomizer, cells, randomness)
    match randomizer:
        case Coarsened():
            return with_even_labels(randomizer, payloads, randomness)
        case SeededDirection():
            # The sign is the last byte.
            payloads[:, -1] = uniform_bits(randomness, 1, count)
    return payloads
