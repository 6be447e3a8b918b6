"""The ratio to the lower bound against ε, one line a workload and objective, as an SVG."""

from collections.abc import Sequence
from itertools import groupby
from math import log2

from benchmarks.accuracy.measure import Plan

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT = 640, 360, 60, 30, 180
_COLOURS = ("#1b4f9c", "#c2571a", "#2f7d4f", "#8a3ffc", "#9f1853", "#525252")
_HIGHEST = 2.0


def draw(rows: Sequence[Plan]) -> str:
    """Lines of the chosen mechanisms' ratios; what is above twice the bound is drawn at the top edge."""
    epsilons = sorted({row.epsilon for row in rows})
    parts = [_axis(epsilons)]
    ordered = sorted(rows, key=lambda row: (row.workload, row.objective, row.epsilon))
    groups = groupby(ordered, key=lambda row: (row.workload, row.objective))
    for number, (name, group) in enumerate(groups):
        points = [(row.epsilon, row.ratio) for row in group if row.ratio is not None]
        parts.append(_line(points, epsilons, " ".join(name), number))
    size = f'width="{_WIDTH + _RIGHT}" height="{_HEIGHT + 2 * _TOP}"'
    style = 'font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(parts)}</svg>'


def _x(epsilon: float, epsilons: Sequence[float]) -> float:
    low, high = log2(epsilons[0]), log2(epsilons[-1])
    return _LEFT + (_WIDTH - _LEFT - 20) * (log2(epsilon) - low) / max(high - low, 1e-9)


def _y(ratio: float) -> float:
    return _TOP + _HEIGHT * (1 - (min(ratio, _HIGHEST) - 1) / (_HIGHEST - 1))


def _axis(epsilons: Sequence[float]) -> str:
    labels = [f'<text x="{_x(e, epsilons):.1f}" y="{_TOP + _HEIGHT + 18}">ε = {e:g}</text>' for e in epsilons]
    for step in range(6):
        ratio = 1 + step / 5
        labels.append(f'<text x="12" y="{_y(ratio) + 4:.1f}">{ratio:.1f}×</text>')
        labels.append(f'<path d="M{_LEFT} {_y(ratio):.1f}H{_WIDTH}" stroke="#ddd"/>')
    return (
        f'<text x="12" y="16">variance of the chosen mechanism over the certified lower bound</text>{"".join(labels)}'
    )


def _line(points: Sequence[tuple[float, float]], epsilons: Sequence[float], name: str, number: int) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    path = " ".join(f"{_x(epsilon, epsilons):.1f},{_y(ratio):.1f}" for epsilon, ratio in points)
    label = f'<text x="{_WIDTH + 12}" y="{_TOP + 18 * number + 10}" fill="{colour}">{name}</text>'
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{label}'
