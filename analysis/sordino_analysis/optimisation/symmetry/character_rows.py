"""A row for each orbit of characters that queries need: the arc of the circle on which its values lie that tells most.

On binary attributes a character is a parity and the arc its sign: randomized response of a random parity. For queries
that a shift takes to their negatives no kernel has less variance up to ε = ln 3: the bound of `odd_characters` is the
dual of the chances' program.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from sordino_analysis.arrays import Mask
from sordino_analysis.optimisation.symmetry.orbit_rows import row_shape
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_families import RowFamily
from sordino_analysis.questions.linear.characters import Characters, Kind, OrbitKey
from sordino_analysis.questions.linear.widths import CharacterMap


def needed_orbits(operator: CharacterMap) -> list[OrbitKey]:
    """The orbits of which some query has a character."""
    needed = query_fourier_weights(operator).by_orbit.max(axis=0) > 0
    return [key for key, used in zip(operator.characters.orbits, needed, strict=True) if used]


def character_families(operator: CharacterMap, epsilon: float) -> list[RowFamily]:
    """One family of one row for each orbit that queries need."""
    return [_family(key, operator.characters, epsilon) for key in needed_orbits(operator)]


def _family(key: OrbitKey, characters: Characters, epsilon: float) -> RowFamily:
    # The first slot is the pinned attribute's, whether the character looks at it or not.
    pinned: list[tuple[Kind, int]] = [(kind, 0) for kind in characters.kinds if kind[1]]
    looked_at = [part for part in key if part[0][1]] or pinned
    parts = [*looked_at, *(part for part in key if not part[0][1])]
    shape = row_shape(tuple(size for (size, _), _ in parts), characters)
    members = _arc(parts, epsilon).reshape(1, -1)
    return RowFamily(shape, members, np.ones(1), shape.profiles(members, epsilon, len(characters.orbits))[0])


def _arc(parts: list[tuple[Kind, int]], epsilon: float) -> Mask:
    """The cells whose angle Σ r_i z_i/c_i (mod 1) lies in the most informative arc for the character."""
    whole = math.lcm(*(size for (size, _), _ in parts))
    steps = [np.arange(size) * frequency * (whole // size) for (size, _), frequency in parts]
    angles = reduce(np.add.outer, steps) % whole
    step = math.gcd(whole, *(int(part[1]) for part in steps))
    places = whole // step
    lengths = np.arange(1, places)
    information = np.sin(np.pi * lengths / places) / (places + np.expm1(epsilon) * lengths)
    return np.asarray(angles < step * lengths[information.argmax()])
