"""Pseudo-random directions of many seeds, and reports of their sides; see `sordino_shared.randomizers.directions`."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.payloads import Payloads
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_shared.randomizers import SeededDirection
from sordino_shared.randomizers.directions import CONTEXT, SEED_BYTES, atom_bytes
from sordino_shared.randomness import Randomness

# Directions are computed for this many entries at a time: 32 MiB as 64-bit integers.
_BATCH_ENTRIES = 1 << 22


@cache
def _atoms() -> NDArray[np.int16]:
    """(65536,) the atom of every 16-bit word."""
    positive = np.frombuffer(atom_bytes(), dtype="<i2")
    return np.concatenate([positive, -positive])


def directions(seeds: NDArray[np.uint8], dimension: int) -> NDArray[np.int16]:
    """(n, dimension) unnormalised integer directions of the (n, 16) seeds."""
    messages = np.empty((len(seeds), len(CONTEXT) + SEED_BYTES), dtype=np.uint8)
    messages[:, : len(CONTEXT)] = np.frombuffer(CONTEXT, dtype=np.uint8)
    messages[:, len(CONTEXT) :] = seeds
    shake, length = hashlib.shake_128, 2 * dimension
    # One loop over plain bytes: the hash itself takes two thirds of the time that a direction costs.
    rows = messages.view(f"V{messages.shape[1]}").reshape(-1).tolist()
    stretched = b"".join([shake(row).digest(length) for row in rows])
    words = np.frombuffer(stretched, dtype="<u2").reshape(len(seeds), dimension)
    return np.take(_atoms(), words)


def randomize_directions(randomizer: SeededDirection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, 17) a seed and a bit for each cell."""
    payloads = np.empty((len(cells), randomizer.payload_bytes), dtype=np.uint8)
    batch = max(1, _BATCH_ENTRIES // randomizer.dimension)
    for start in range(0, len(cells), batch):
        payloads[start : start + batch] = _randomize_batch(randomizer, cells[start : start + batch], randomness)
    return payloads


def _randomize_batch(randomizer: SeededDirection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    seeds = np.frombuffer(randomness.bytes(SEED_BYTES * len(cells)), dtype=np.uint8).reshape(-1, SEED_BYTES)
    keep = uniform_bits(randomness, randomizer.bits, len(cells)) < ndarray(randomizer.keep_weights)[cells]
    vectors = ndarray(randomizer.vectors)[cells].astype(np.int64)
    positive = np.einsum("nd,nd->n", directions(seeds, randomizer.dimension).astype(np.int64), vectors) >= 0
    bits = (positive == keep).astype(np.uint8)
    return np.concatenate([seeds, bits[:, None]], axis=1)
