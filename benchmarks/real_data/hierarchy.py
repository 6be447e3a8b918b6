"""A tree of intervals with constrained inference, from its paper (Cormode, Kulkarni, Srivastava 2019, section 4).

Each user draws a level of a complete tree of fanout 4 and reports the node there that holds the value by optimised
unary encoding. Estimates of all nodes are then made consistent, in two passes (Hay et al. 2010).
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats

_FANOUT = 4


def hierarchy(shares: Floats, epsilon: float, users: int, random: np.random.Generator) -> Floats:
    """(k,) the consistent shares of leaves from `users` reports of users who are spread as `shares` (k,)."""
    height = max(1, math.ceil(math.log(len(shares)) / math.log(_FANOUT) - 1e-9))
    padded = np.pad(shares, (0, _FANOUT**height - len(shares)))
    drawn = random.multinomial(users, np.full(height, 1 / height))
    levels = [np.ones(1)]
    for level, reports in enumerate(drawn.tolist(), 1):
        nodes = padded.reshape(_FANOUT**level, -1).sum(axis=1)
        levels.append(_unary(random.multinomial(reports, nodes / nodes.sum()), epsilon, random))
    return consistent(levels)[-1][: len(shares)]


def consistent(levels: list[Floats]) -> list[Floats]:
    """The levels from the root down, (4^level,) each, with nodes that are sums of their children; the root is known.

    Weighted averages of a node and its children from the leaves up, then what is missing is spread from the root down.
    """
    height, averages = len(levels) - 1, [each.copy() for each in levels]
    for level in range(height - 1, 0, -1):
        below, above = (float(_FANOUT**power) for power in (height - level, height - level + 1))
        children = averages[level + 1].reshape(-1, _FANOUT).sum(axis=1)
        averages[level] = ((above - below) * levels[level] + (below - 1) * children) / (above - 1)
    found = [levels[0]]
    for level in range(1, height + 1):
        children = averages[level].reshape(-1, _FANOUT)
        missing = found[-1] - children.sum(axis=1)
        found.append((children + missing[:, None] / _FANOUT).ravel())
    return found


def _unary(held: np.ndarray, epsilon: float, random: np.random.Generator) -> Floats:
    """Unbiased shares of nodes that `held` users hold: a set bit is kept with ½, another is set with 1/(e^ε + 1)."""
    reports, noise = int(held.sum()), 1 / (math.exp(epsilon) + 1)
    if not reports:
        return np.full(len(held), 1 / len(held))
    counts = random.binomial(held, 0.5) + random.binomial(reports - held, noise)
    return np.asarray((counts / reports - noise) / (0.5 - noise))
