"""Haar wavelets as a candidate: a level at a random one of the best chances, and signs of its coefficients."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.mechanisms.drawn_families import drawn_kernel, reason_against_tree
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.set_families import SetFamily, signed_blocks
from sordino_analysis.progress import ProgressCallback


class HaarMechanism:
    """On each level of a binary tree the differences between the halves of its nodes, by Walsh functions of the nodes.

    At a larger ε nodes fall into blocks, of which a set holds one, so that it holds about 1/(e^ε + 1) of all types.
    Cormode, Kulkarni, Srivastava 2019 (HaarHRR); blocks and chances of the levels are added here.
    """

    name = "haar"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_against_tree(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        types, epsilon = work.request.workload.size, work.request.guarantee.epsilon
        levels = range((types - 1).bit_length())
        return drawn_kernel([_differences(types, level, epsilon) for level in levels], work, progress)


def _differences(types: int, level: int, epsilon: float) -> SetFamily:
    """The family of the level with 2^level nodes."""
    # On the last level there may be more places than types: some halves are empty, and no type is without one.
    halves = np.arange(types) * (2 << level) // types
    blocks = max((2**power for power in range(level + 1)), key=lambda count: _information(1 / (2 * count), epsilon))
    return signed_blocks(halves // 2, halves % 2 == 1, blocks)


def _information(share: float, epsilon: float) -> float:
    """Information of a set that contains this share of the types, up to a factor."""
    return share * (1 - share) / (1 + share * math.expm1(epsilon)) ** 2
