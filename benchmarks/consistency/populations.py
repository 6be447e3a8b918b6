"""Who the simulated users are: flights, labels by Zipf's law, and people with correlated yes-or-no attributes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_server.demo.flights import DelayQueries, delay_edges, delay_specification, draw_delays

Cells = NDArray[np.int64]

_ATTRIBUTES, _KINDS_OF_PEOPLE = 8, 3


@dataclass(frozen=True)
class Population:
    """What is asked, and a draw of the cells of so many users with a seed."""

    name: str
    workload: Workload
    draw: Callable[[int, int], Cells]


def populations(bins: int) -> list[Population]:
    """Flights over `bins` bins, as many labels, and eight attributes."""
    delays = [
        Population(
            f"flights, {kind} {bins}", parse_specification(delay_specification(kind, bins)).build(), _delays(bins)
        )
        for kind in (DelayQueries.HISTOGRAM, DelayQueries.PREFIX)
    ]
    few = bins // 2
    ranges = parse_specification(delay_specification(DelayQueries.RANGES, few)).build()
    return [
        *delays,
        Population(f"flights, ranges {few}", ranges, _delays(few)),
        Population(f"Zipf, histogram {2 * bins}", builtin("histogram", 2 * bins), _zipf(2 * bins)),
        Population(f"attributes, marginals 3 of {_ATTRIBUTES}", _binary("marginals"), _people),
        Population(f"attributes, parities 3 of {_ATTRIBUTES}", _binary("parities"), _people),
    ]


def _delays(bins: int) -> Callable[[int, int], Cells]:
    edges = np.array(delay_edges(bins))
    return lambda users, seed: np.searchsorted(edges, draw_delays(users, seed), side="left").astype(np.int64)


def _zipf(size: int) -> Callable[[int, int], Cells]:
    shares = 1 / np.arange(1, size + 1)
    shares /= shares.sum()
    return lambda users, seed: np.random.default_rng(seed).choice(size, size=users, p=shares).astype(np.int64)


def _people(users: int, seed: int) -> Cells:
    """Three kinds of people, each with chances of its own for every attribute: attributes hang together."""
    chances = np.random.default_rng(0).beta(0.5, 1.0, size=(_KINDS_OF_PEOPLE, _ATTRIBUTES))
    generator = np.random.default_rng(seed)
    kinds = generator.choice(_KINDS_OF_PEOPLE, size=users, p=[0.6, 0.3, 0.1])
    held = generator.random((users, _ATTRIBUTES)) < chances[kinds]
    return np.asarray(held @ (1 << np.arange(_ATTRIBUTES)[::-1]), dtype=np.int64)


def _binary(kind: str) -> Workload:
    domain: list[dict[str, Any]] = [
        {"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(_ATTRIBUTES)
    ]
    asked = {"name": f"{kind} of attributes", "domain": domain, "queries": {"kind": kind, "width": 3}}
    return parse_specification(asked).build()
