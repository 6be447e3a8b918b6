"""The lengths of the shortest code whose words have a limited length (package-merge; Larmore and Hirschberg 1990)."""

from __future__ import annotations

from collections.abc import Sequence


def limited_lengths(weights: Sequence[float], longest: int) -> list[int]:
    """The lengths of words, each at most `longest`, that minimise Σ weight · length with Σ 2^−length = 1.

    `weights` are two or more numbers above 0; 2^longest words or fewer.
    """
    order = sorted(range(len(weights)), key=lambda place: (weights[place], place))
    leaves = [weights[place] for place in order]
    levels, packages = list[list[bool]](), list[float]()
    for _ in range(longest):
        # A package is lighter than no leaf of its weight: leaves go first.
        row = sorted([(weight, False) for weight in leaves] + [(weight, True) for weight in packages])
        levels.append([is_package for _, is_package in row])
        packages = [row[place][0] + row[place + 1][0] for place in range(0, len(row) - 1, 2)]
    lengths, taken = [0] * len(weights), 2 * len(weights) - 2
    for level in reversed(levels):
        packed = sum(level[:taken])
        for place in order[: taken - packed]:
            lengths[place] += 1
        taken = 2 * packed
    return lengths
