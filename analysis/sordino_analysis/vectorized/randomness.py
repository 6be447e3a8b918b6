"""Many draws at once, and the seeded stream of simulations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared.randomness import Randomness

Words = NDArray[np.uint64]
# The largest number of which one word draws exactly.
MAX_BOUND = 1 << 63


def uniform_bits(randomness: Randomness, bits: int, count: int) -> Words:
    """(count,) independent uniform integers in [0, 2^bits), 1 ≤ bits ≤ 64."""
    check_range(bits, 1, 64, "bits")
    words = np.frombuffer(randomness.bytes(8 * count), dtype="<u8").astype(np.uint64)
    return words >> np.uint64(64 - bits)


def uniform_below(randomness: Randomness, bound: int, count: int) -> Words:
    """(count,) independent uniform integers in [0, bound), exactly: words past the last multiple are redrawn."""
    check_range(bound, 1, MAX_BOUND, "bound")
    limit = np.uint64((2**64 // bound) * bound - 1)
    words = uniform_bits(randomness, 64, count)
    while (rejected := words > limit).any():
        words[rejected] = uniform_bits(randomness, 64, int(rejected.sum()))
    return words % np.uint64(bound)


def uniform_below_each(randomness: Randomness, bounds: Words) -> Words:
    """(n,) independent integers, each uniform in [0, bound) of the (n,) `bounds` from 1 to 2^63."""
    most = np.uint64(2**64 - 1)
    # 2^64 modulo the bound, for its last multiple.
    beyond = (most % bounds + np.uint64(1)) % bounds
    words = uniform_bits(randomness, 64, len(bounds))
    while (rejected := words > most - beyond).any():
        words[rejected] = uniform_bits(randomness, 64, int(rejected.sum()))
    return words % bounds


class SeededRandomness(Randomness):
    """A reproducible stream for simulations and tests; never for a real device."""

    def __init__(self, seed: int) -> None:
        # A key of its own: a simulation that draws its users from default_rng(seed) must not randomise them with the
        # same stream, which would make noise a function of the truth.
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,))))

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)
