"""What consistency leaves of the error against the number of users, a line a population."""

from collections.abc import Sequence
from itertools import groupby
from math import log10

from benchmarks.consistency.measure import Errors
from sordino_analysis.charts.scales import Scale
from sordino_analysis.charts.svg import document, dot, line, path, text

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 420, 70, 560, 60, 360
_COLOURS = ("#2563eb", "#c2571a", "#15803d", "#8a3ffc", "#9f1853", "#0891b2")


def draw(rows: Sequence[Errors]) -> str:
    """The text of an SVG file."""
    users = sorted({row.users for row in rows})
    across, up = Scale(log10(users[0]), log10(users[-1]), _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    title = "Error of projected answers as a share of the error of unbiased ones"
    rules = " ".join(f".line{i} {{ fill: none; stroke: {c}; stroke-width: 1.8; }}" for i, c in enumerate(_COLOURS))
    parts = [f"<style>{rules}</style>", text((_LEFT, 34), title, kind="title")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [line((_LEFT, up(share)), (_RIGHT, up(share)), "grid")]
        parts += [text((_LEFT - 8, up(share) + 4), f"{share:.0%}", "end")]
    parts += [text((across(log10(n)), _BOTTOM + 22), f"{n:,}", "middle") for n in users]
    parts += [text(((_LEFT + _RIGHT) / 2, _BOTTOM + 46), "users", "middle")]
    for number, (name, group) in enumerate(groupby(rows, key=lambda row: row.population)):
        points = [(across(log10(row.users)), up(row.ratio)) for row in group]
        place = _TOP + 24 * number
        parts += [path(points, f"line{number}"), *(dot(point, 2.6, f"line{number}") for point in points)]
        parts += [
            line((_RIGHT + 30, place), (_RIGHT + 54, place), f"line{number}"),
            text((_RIGHT + 62, place + 4), name),
        ]
    return document(_WIDTH, _HEIGHT, title, "Root mean squared errors over queries, simulated campaigns.", parts)
