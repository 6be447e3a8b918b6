"""The workloads of the accuracy benchmark, by the names that its tables have for them."""

from collections.abc import Sequence
from typing import Any

from sordino_analysis.questions.linear import Workload, builtin, parse_specification

# All ranges over 64 bins are 2,079 queries, over 16 × 16 cells 18,495: minutes for every ε.
_LARGEST_RANGES, _LARGEST_SIDE = 32, 8


def workloads(bins: Sequence[int], side: int, attributes: int, width: int, *, large: bool = False) -> list[Workload]:
    """Lines of `bins`, a grid of side × side cells, and binary attributes; `large` adds what takes an hour."""
    largest = max(_LARGEST_RANGES, 64 if large else 0)
    lines = [builtin(kind, size) for kind in ("histogram", "prefix") for size in bins]
    ranges = [builtin("ranges", size) for size in [*bins, *([64] if large else [])] if size <= largest]
    widths = [_binary(kind, width, attributes) for kind in ("parities", "marginals")]
    grids = [_grid(size) for size in ([side, 2 * _LARGEST_SIDE] if large else [side])]
    return [*lines, *ranges, *grids, *widths, _stack(bins[0]), *([builtin("prefix", 512)] if large else [])]


def quick() -> list[Workload]:
    """One of each, of a few types."""
    return workloads([8], 3, 4, 2)


def standard(bins: Sequence[int], *, large: bool) -> list[Workload]:
    """The sizes of the published tables."""
    return workloads(bins, _LARGEST_SIDE, 8, 3, large=large)


def _line(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": [float(edge) for edge in range(1, bins)]}


def _built(name: str, domain: list[dict[str, Any]], queries: Any) -> Workload:
    return parse_specification({"name": name, "domain": domain, "queries": queries}).build()


def _grid(side: int) -> Workload:
    """Every rectangle of a square of side × side cells."""
    return _built(f"ranges-{side}x{side}", [_line("down", side), _line("across", side)], "ranges")


def _binary(kind: str, width: int, attributes: int) -> Workload:
    domain = [{"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(attributes)]
    return _built(f"{kind}-{width}-of-{attributes}", domain, {"kind": kind, "width": width})


def _stack(bins: int) -> Workload:
    """A histogram and its prefix sums from the same reports."""
    parts = [{"queries": "histogram"}, {"queries": "prefix"}]
    return _built(f"stack-{bins}", [_line("value", bins)], {"stack": parts})
