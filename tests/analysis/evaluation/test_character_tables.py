"""Tables of characters: those of the definition, and the same integers on a processor with other instructions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from sordino_analysis.evaluation.character_tables import CharacterTables, roots_of_unity
from sordino_analysis.evaluation.orbit_sums import CharacterSums
from sordino_analysis.vectorized.orbits import base_row, row_members
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers import OrbitKernel

SCALE = 1 << 32
# Finer than sums are kept, so that the last bits of floats show.
FINE = 1 << 50


def kernel(*shape: int) -> OrbitKernel:
    """All attributes in one row, of which a third of the cells get the high weight."""
    inside = np.random.default_rng(5).random(shape) < 1 / 3
    high = (1 << 40) * exp_lower_bound(PureEpsilon.of(1).nano, 128) >> 128
    return OrbitKernel(
        shape=shape,
        width=len(shape),
        overlaps=False,
        bits=60,
        low=1 << 40,
        high=high,
        row_weights=(1 << 60,),
        rows=(base_row(inside),),
    )


def digest() -> str:
    """Of the tables, and of what reports add up to."""
    found = hashlib.sha256()
    for shape in ((7, 5, 3), (11, 13), (97,)):
        given = kernel(*shape)
        for _, table in CharacterSums(given, FINE)._tables[0]:
            found.update(np.ascontiguousarray(table).astype("<i8").tobytes())
        payloads = randomize_many(given, np.arange(97) % given.size, SeededRandomness(1))
        found.update(CharacterSums(given, SCALE)(payloads).astype("<i8").tobytes())
    return found.hexdigest()


def test_other_instructions_make_the_same_tables() -> None:
    """Without the vector instructions that numpy chooses by what the processor has."""
    command = [sys.executable, "-c", f"from {__name__} import digest; print(digest())"]
    plain = subprocess.run(command, capture_output=True, text=True, check=True, env=_without_vectors())
    assert plain.stdout.strip() == digest()


def _without_vectors() -> dict[str, str]:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    found = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    if not found:
        pytest.skip("numpy has no choice of instructions on this processor")
    return os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(found)}


@pytest.mark.parametrize("shape", [(7, 5, 3), (2, 2), (16,)])
def test_tables_are_those_of_the_definition(shape: tuple[int, ...]) -> None:
    given = kernel(*shape)
    tables = CharacterTables(given, SCALE)
    inside = row_members(given.rows[0]).reshape(shape)
    levels = np.where(inside, float(given.high), float(given.low))
    ratios = (levels / levels.mean()).ravel()
    cells = np.indices(shape).reshape(len(shape), -1)
    checked = 0
    for slots, table in tables.rows[0]:
        sizes = [shape[slot] for slot in slots]
        for column, values in enumerate(np.ndindex(*(size - 1 for size in sizes))):
            frequency = np.zeros(len(shape))
            frequency[slots] = [(value + 1) / size for value, size in zip(values, sizes, strict=True)]
            angles = 2 * np.pi * (frequency @ cells)
            both = np.add.outer(angles, angles)
            expected = (np.cos(both) + np.sin(both)) @ ratios / len(ratios) * (SCALE / tables.unit)
            assert np.abs(table[:, column] - expected).max() <= 0.501
            assert np.abs(table[:, column]).max() <= SCALE
            checked += 1
    assert checked == np.prod(shape) - 1


def test_roots_of_unity_are_the_nearest_floats() -> None:
    for size in (1, 2, 3, 4, 8, 360, 4096):
        cosines, sines = roots_of_unity(size)
        angles = 2 * np.pi * np.arange(size) / size
        assert np.abs(cosines - np.cos(angles)).max() < 1e-15
        assert np.abs(sines - np.sin(angles)).max() < 1e-15
    cosines, sines = roots_of_unity(12)
    assert [cosines[j] for j in (0, 2, 3, 4, 6)] == [1, 0.5, 0, -0.5, -1]
    assert [sines[j] for j in (0, 1, 3, 5, 6)] == [0, 0.5, 1, 0.5, 0]
