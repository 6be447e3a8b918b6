"""Small statistics and populations of users that intervals are tried on: of many types, of one, and of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PROTOCOLS = ("one_round", "one_round_split", "two_round", "two_round_shared")
EPSILONS, USERS = (1.0, 6.0, 8.0), (50, 200, 2000)
POPULATIONS = ("zipf", "one_type", "half_and_half")


def _line(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": 0.0, "high": 1.0, "bins": bins}}


_ITEM = {"name": "item", "kind": "categorical", "labels": ["a", "b", "c", "d"]}
_LABEL = {"name": "label", "kind": "categorical", "labels": ["no", "yes"]}
_GRID = [_line("x", 3), _line("y", 3)]
_DOCUMENTS: dict[str, dict[str, Any]] = {
    "gini_diversity": {"domain": [_ITEM], "statistic": {"kind": "gini_diversity"}},
    "gini_mean_difference": {"domain": [_line("value", 5)], "statistic": {"kind": "gini_mean_difference"}},
    "variance": {"domain": [_line("value", 5)], "statistic": {"kind": "variance"}},
    "kendall_a": {"domain": _GRID, "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "a"}},
    "kendall_b": {"domain": _GRID, "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "b"}},
    "auc": {
        "domain": [_line("score", 4), _LABEL],
        "statistic": {"kind": "auc", "score": "score", "label": "label", "positive": "yes"},
    },
}
STATISTICS = tuple(_DOCUMENTS)
# A table that an analyst wrote, of which estimates of few users warn (python -m benchmarks.accuracy.own_tables).
OWN_TABLE = "steps"
_OWN_TABLES = {
    OWN_TABLE: {
        "domain": [_line("value", 6)],
        "statistic": {"kind": "lipschitz", "table": [0, 0, 0.5, 1, 1, 1]},
    }
}
# Cells by falling share under Zipf's law. Ordered so that τ is .34 and the area under the curve .64.
_RANKS = {
    "kendall_a": (0, 4, 8, 1, 3, 5, 2, 7, 6),
    "kendall_b": (0, 4, 8, 1, 3, 5, 2, 7, 6),
    "auc": (0, 2, 5, 4, 7, 3, 6, 1),
}


def statistic_of(name: str) -> PairwiseStatistic:
    """One of STATISTICS, or OWN_TABLE."""
    return parse_statistic({"name": name, **(_DOCUMENTS | _OWN_TABLES)[name]}).build()


def histogram_of(statistic: PairwiseStatistic, population: str) -> Floats:
    """(k,) shares of the types: Zipf's law, all of the second type, or half the first and half the last."""
    size, shares = statistic.size, np.zeros(statistic.size)
    if population == "one_type":
        shares[1] = 1.0
    elif population == "half_and_half":
        shares[[0, -1]] = 0.5
    else:
        shares[list(_RANKS.get(statistic.name, range(size)))] = 1.0 / np.arange(1, size + 1)
    return shares / shares.sum()


def drawn_users(histogram: Floats, users: int, campaigns: int, generator: np.random.Generator) -> Integers:
    """(campaigns, k) how many users hold each type, a sample of the population for every campaign."""
    return generator.multinomial(users, histogram, size=campaigns)


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    statistic: str
    protocol: str
    epsilon: float
    users: int
    population: str


def all_cells() -> Iterator[Cell]:
    """Every combination that there is a protocol for, those of one plan one after the other."""
    for name in STATISTICS:
        ratio = not statistic_of(name).is_one_form
        for protocol in PROTOCOLS:
            if ratio and protocol == "one_round_split":
                continue
            for epsilon in EPSILONS:
                for users in USERS:
                    for population in POPULATIONS:
                        yield Cell(name, protocol, epsilon, users, population)
