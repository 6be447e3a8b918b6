"""The statistics that the protocols are measured on, with the populations whose users answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, multivariate_normal, norm

from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic

Floats = NDArray[np.float64]
CATEGORIES, EDGE, CORRELATION, POSITIVES = 256, 2.2, 0.5, 0.35


@dataclass(frozen=True, eq=False)
class Case:
    """A statistic and the histogram (k,) of the population; `target` is the error to stay below, where there is one."""

    name: str
    statistic: PairwiseStatistic
    histogram: Floats
    target: float | None


def cases(types: int = CATEGORIES) -> dict[str, Case]:
    """All of them over a domain of `types` cells, by name; targets are for 256 types, 10^5 users and ε = 1."""
    builders: dict[str, tuple[Callable[[int], tuple[dict[str, Any], Floats]], float | None]] = {
        "gini_diversity": (_gini_diversity, 2.2e-3),
        "gini_uniform": (_gini_uniform, None),
        "gini_mean_difference": (_gini_mean_difference, 3.3e-3),
        "kendall": (_kendall, 2.2e-2),
        "auc_numerator": (_auc_numerator, 3.6e-3),
        "auc": (_auc, None),
        "random_signs": (_random_signs, 2.4e-2),
    }
    found = {}
    for name, (build, target) in builders.items():
        document, histogram = build(types)
        statistic = parse_statistic({"name": name, **document}).build()
        found[name] = Case(name, statistic, histogram, target if types == CATEGORIES else None)
    return found


def _gini_diversity(types: int) -> tuple[dict[str, Any], Floats]:
    return {"domain": [_labels(types)], "statistic": {"kind": "gini_diversity"}}, _zipf(types)


def _gini_uniform(types: int) -> tuple[dict[str, Any], Floats]:
    return {"domain": [_labels(types)], "statistic": {"kind": "gini_diversity"}}, np.full(types, 1.0 / types)


def _gini_mean_difference(types: int) -> tuple[dict[str, Any], Floats]:
    line = _line("value", 0.0, 1.0, types)
    edges = np.arange(types + 1) / types
    shares = 0.7 * np.diff(beta.cdf(edges, 2, 6)) + 0.3 * np.diff(beta.cdf(edges, 8, 3))
    return {"domain": [line], "statistic": {"kind": "gini_mean_difference"}}, shares


def _kendall(types: int) -> tuple[dict[str, Any], Floats]:
    bins = isqrt(types)
    lines = [_line(name, -EDGE, EDGE, bins) for name in ("x", "y")]
    statistic = {"kind": "kendall", "attributes": ["x", "y"], "variant": "a"}
    return {"domain": lines, "statistic": statistic}, _bivariate_normal(bins).ravel()


def _auc(types: int) -> tuple[dict[str, Any], Floats]:
    bins = types // 2
    score, label = _line("score", 0.0, 1.0, bins), {"name": "label", "kind": "categorical", "labels": ["no", "yes"]}
    statistic = {"kind": "auc", "score": "score", "label": "label", "positive": "yes"}
    return {"domain": [score, label], "statistic": statistic}, _scores(bins).ravel()


def _auc_numerator(types: int) -> tuple[dict[str, Any], Floats]:
    """¼ sgn(s − s')(y − y'): its mean over pairs is (AUC − ½)p₊p₋·n/(n − 1)."""
    document, histogram = _auc(types)
    score, label = np.divmod(np.arange(types), 2)
    matrix = 0.25 * np.sign(np.subtract.outer(score, score)) * np.subtract.outer(label, label)
    return {"domain": document["domain"], "statistic": {"kind": "matrix", "matrix": matrix.tolist()}}, histogram


def _random_signs(types: int) -> tuple[dict[str, Any], Floats]:
    signs = np.random.default_rng(256).choice([-1.0, 1.0], size=(types, types))
    matrix = np.triu(signs) + np.triu(signs, 1).T
    return {"domain": [_labels(types)], "statistic": {"kind": "matrix", "matrix": matrix.tolist()}}, _zipf(types)


def _zipf(types: int) -> Floats:
    weights = np.arange(1, types + 1) ** -1.1
    return np.asarray(weights / weights.sum())


def _bivariate_normal(bins: int) -> Floats:
    """(bins, bins) shares of a grid whose outer cells take what lies beyond."""
    inner = np.linspace(-EDGE, EDGE, bins + 1)[1:-1]
    law = multivariate_normal([0.0, 0.0], [[1.0, CORRELATION], [CORRELATION, 1.0]])
    below = np.zeros((bins + 1, bins + 1))
    points = np.stack(np.meshgrid(inner, inner, indexing="ij"), axis=-1)
    below[1:-1, 1:-1] = law.cdf(points)
    below[1:-1, -1] = below[-1, 1:-1] = norm.cdf(inner)
    below[-1, -1] = 1.0
    shares = np.maximum(np.diff(np.diff(below, axis=0), axis=1), 0.0)
    return np.asarray(shares / shares.sum())


def _scores(bins: int) -> Floats:
    """(bins, 2) shares of negatives and positives."""
    edges = np.arange(bins + 1) / bins
    negatives, positives = np.diff(beta.cdf(edges, 2, 4)), np.diff(beta.cdf(edges, 4, 2.5))
    return np.column_stack([(1 - POSITIVES) * negatives, POSITIVES * positives])


def _labels(types: int) -> dict[str, Any]:
    return {"name": "item", "kind": "categorical", "labels": [f"item {number + 1}" for number in range(types)]}


def _line(name: str, low: float, high: float, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": low, "high": high, "bins": bins}}
