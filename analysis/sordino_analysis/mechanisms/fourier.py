"""Fourier characters as a candidate: one at a random one of the best chances, its sign by randomized response."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from sordino_analysis.arrays import Mask
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.orbit_kernel import drawn_proposal, reason_against_orbits
from sordino_analysis.optimisation.symmetry.orbit_rows import row_shape
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_families import RowFamily
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.characters import Characters, OrbitKey
from sordino_analysis.questions.linear.widths import CharacterMap, character_map
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS


class FourierMechanism:
    """Characters of the orbits that queries need, each as an arc of the circle on which its values lie.

    On binary attributes a character is a parity, and half the circle its sign: randomized response of a random parity,
    weighted. Barak et al. 2007; Cormode, Kulkarni, Srivastava 2018 (marginals through the Hadamard transform).
    """

    name = "fourier"

    def reason_against(self, work: SharedWork) -> str | None:
        reason = reason_against_orbits(work)
        if reason is not None:
            return reason
        needed = len(_needed(character_map(work.request.workload.operator)))
        return f"{needed} orbits of characters; a device holds {MAX_ROWS} rows" if needed > MAX_ROWS else None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        operator, epsilon = character_map(work.request.workload.operator), work.request.guarantee.epsilon
        families = [_family(key, operator.characters, epsilon) for key in _needed(operator)]
        return drawn_proposal(families, work)


def _needed(operator: CharacterMap) -> list[OrbitKey]:
    needed = query_fourier_weights(operator).by_orbit.max(axis=0) > 0
    return [key for key, used in zip(operator.characters.orbits, needed, strict=True) if used]


def _family(key: OrbitKey, characters: Characters, epsilon: float) -> RowFamily:
    shape = row_shape(tuple(size for size, _ in key), characters)
    members = _arc(key, epsilon).reshape(1, -1)
    return RowFamily(shape, members, np.ones(1), shape.profiles(members, epsilon, len(characters.orbits))[0])


def _arc(key: OrbitKey, epsilon: float) -> Mask:
    """The cells whose angle Σ r_i z_i/c_i (mod 1) lies in the most informative arc for the character."""
    whole = math.lcm(*(size for size, _ in key))
    steps = [np.arange(size) * frequency * (whole // size) for size, frequency in key]
    angles = reduce(np.add.outer, steps) % whole
    step = math.gcd(whole, *(int(part[1]) for part in steps))
    places = whole // step
    lengths = np.arange(1, places)
    information = np.sin(np.pi * lengths / places) / (places + np.expm1(epsilon) * lengths)
    return np.asarray(angles < step * lengths[information.argmax()])
