"""The requests over very large domains that are measured, with what is aimed at and what is published elsewhere."""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.large.peers import Peers, histogram_peers, interval_peers, marginal_peers


@dataclass(frozen=True, kw_only=True)
class Row:
    """A plan request; `target_mean` and `target_max` are the variances of one report that are aimed at."""

    name: str
    specification: dict[str, Any]
    epsilon: float = 1
    objective: str = "mean"
    target_mean: float | None = None
    target_max: float | None = None
    peers: Peers = field(default_factory=dict)


def _histogram(name: str, attribute: dict[str, Any], objective: str, target: float, epsilon: float = 1) -> Row:
    return Row(
        name=name,
        specification={"name": "items", "domain": [{"name": "item", **attribute}], "queries": "histogram"},
        epsilon=epsilon,
        objective=objective,
        peers=histogram_peers(epsilon, objective),
        **{f"target_{objective}": target},
    )


def _integers(bits: int) -> dict[str, Any]:
    return {"kind": "integers", "low": 0, "high": (1 << bits) - 1}


def _bins(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"start": 0, "step": 1, "count": count - 1}}


def _intervals(kind: str, types: int, mean: float, largest: float | None, epsilon: float = 1) -> Row:
    return Row(
        name=f"{kind} {types:,}" + ("" if epsilon == 1 else f", ε = {epsilon:g}"),
        specification={"name": kind, "domain": [_bins("value", types)], "queries": kind},
        epsilon=epsilon,
        target_mean=mean,
        target_max=largest,
        peers=interval_peers(kind, types, epsilon),
    )


def _largest(types: int, epsilon: float, target: float) -> Row:
    return Row(
        name=f"prefix {types:,}, max, ε = {epsilon:g}",
        specification={"name": "prefix", "domain": [_bins("value", types)], "queries": "prefix"},
        epsilon=epsilon,
        objective="max",
        target_max=target,
    )


def _settings(attributes: int, members: int, width: int, *, exactly: bool) -> dict[str, Any]:
    domain = [
        {"name": f"a{number}", "kind": "categorical", "labels": [f"v{member}" for member in range(members)]}
        for number in range(attributes)
    ]
    return {
        "name": "settings",
        "domain": domain,
        "queries": {"kind": "marginals", "width": width, "exactly": exactly},
    }


def _marginals(attributes: int, width: int, target: float) -> Row:
    return Row(
        name=f"marginals of {width} of {attributes} binary",
        specification=_settings(attributes, 2, width, exactly=True),
        target_mean=target,
        peers=marginal_peers(attributes, width, 1),
    )


def _stack(types: int, mean: float | None, largest: float, epsilon: float = 1) -> Row:
    """Prefix sums and cells of even weights; `largest` is aimed at for the worst prefix sum, alone for the maximum."""
    stack = [{"queries": "prefix"}, {"queries": "histogram"}]
    return Row(
        name=f"prefix + histogram {types:,}"
        + ("" if epsilon == 1 else f", ε = {epsilon:g}")
        + (", max" if mean is None else ""),
        specification={"name": "stack", "domain": [_bins("value", types)], "queries": {"stack": stack}},
        epsilon=epsilon,
        objective="max" if mean is None else "mean",
        target_mean=mean,
        target_max=largest,
    )


def _categories(members: int, types: int, mean: float | None, largest: float | None, epsilon: float = 1) -> Row:
    category = {"name": "category", "kind": "categorical", "labels": [f"v{member}" for member in range(members)]}
    return Row(
        name=f"{members} categories × prefix {types:,}"
        + ("" if epsilon == 1 else f", ε = {epsilon:g}")
        + (", max" if largest else ""),
        specification={
            "name": "categories",
            "domain": [category, _bins("value", types)],
            "queries": {"category": "histogram", "value": "prefix"},
        },
        epsilon=epsilon,
        objective="max" if largest else "mean",
        target_mean=mean,
        target_max=largest,
    )


def _labels(name: str, members: int) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "labels": [f"v{member}" for member in range(members)]}


def _products(name: str, domain: list[dict[str, Any]], queries: Any, mean: float) -> Row:
    """Intervals beside several categories, or of several kinds; `mean` is aimed at."""
    return Row(name=name, specification={"name": "products", "domain": domain, "queries": queries}, target_mean=mean)


_EACH = {"category": "histogram", "value": "prefix"}
_ELEVEN = [_labels(f"a{number}", 2) for number in range(11)]
_BESIDE = (
    _products(
        "8 × 16 categories × prefix 1,024",
        [_labels("first", 8), _labels("second", 16), _bins("value", 1024)],
        {"first": "histogram", "second": "histogram", "value": "prefix"},
        38,
    ),
    _products(
        "11 attributes of 2 categories × prefix 128",
        [*_ELEVEN, _bins("value", 128)],
        {**{one["name"]: "histogram" for one in _ELEVEN}, "value": "prefix"},
        22,
    ),
    _products(
        "50 categories and all × prefix 1,024",
        [_labels("category", 50), _bins("value", 1024)],
        {"stack": [{"queries": _EACH}, {"queries": _EACH | {"category": "total"}, "weight": 50}]},
        58,
    ),
    _products(
        "50 categories × ranges 512",
        [_labels("category", 50), _bins("value", 512)],
        _EACH | {"value": "ranges"},
        48,
    ),
    _products(
        "8 categories × 64 bins × prefix 1,024",
        [_labels("category", 8), _bins("size", 64), _bins("value", 1024)],
        _EACH | {"size": "histogram"},
        36,
    ),
)


def _plane_beside(objective: str, mean: float | None, largest: float | None) -> Row:
    """Prefix sums of two ordered attributes in each of 8 categories."""
    return Row(
        name="8 categories × 64 × 64, prefix" + (", max" if objective == "max" else ""),
        specification={
            "name": "plane",
            "domain": [_labels("category", 8), _bins("x", 64), _bins("y", 64)],
            "queries": {"category": "histogram", "x": "prefix", "y": "prefix"},
        },
        objective=objective,
        target_mean=mean,
        target_max=largest,
    )


_GRID = {"name": "grid", "domain": [_bins("x", 256), _bins("y", 256)], "queries": "prefix"}

ROWS = (
    _histogram("histogram 2^20, mean", _integers(20), "mean", 3.70),
    _histogram("histogram 2^20, max", _integers(20), "max", 3.93),
    _histogram("histogram 2^24, max", _integers(24), "max", 3.93),
    _histogram("hashed text, 64 bits, mean", {"kind": "hashed", "bits": 64}, "mean", 3.70),
    _histogram("hashed text, 64 bits, max", {"kind": "hashed", "bits": 64}, "max", 3.93),
    _histogram("histogram 2^20, max, ε = 4", _integers(20), "max", 0.189, 4),
    _intervals("prefix", 1024, 25, 30.5),
    _intervals("prefix", 4096, 35, 42),
    _intervals("prefix", 65536, 58, 70),
    _intervals("ranges", 1024, 39.5, 47),
    _intervals("ranges", 4096, 56.5, 66),
    _intervals("prefix", 4096, 7.8, None, 2),
    _stack(4096, 22.1, 44),
    _stack(65536, 34.9, 73),
    _stack(4096, 4.8, 14.1, 2),
    _stack(4096, None, 43),
    _stack(4096, None, 3.8, 4),
    _categories(50, 1024, 35.5, None),
    _categories(20, 4096, 46.5, None),
    _categories(4, 16384, 58, None),
    _categories(50, 1024, None, 46.5),
    _categories(50, 1024, None, 6, 4),
    *_BESIDE,
    _largest(1016, 4, 2.45),
    _largest(2032, 4, 2.95),
    _largest(4064, 4, 3.4),
    _largest(2049, 8, 0.69),
    Row(name="grid 256 × 256, prefix", specification=_GRID, target_mean=180),
    _plane_beside("mean", 86, None),
    _plane_beside("max", None, 124),
    _marginals(20, 2, 94),
    _marginals(20, 3, 248),
    _marginals(64, 2, 735),
    _marginals(64, 3, 5160),
    Row(
        name="marginals of up to 2 of 6 of 10 values",
        specification=_settings(6, 10, 2, exactly=False),
        target_mean=49.5,
    ),
)
