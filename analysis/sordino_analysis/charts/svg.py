"""The few SVG elements that the charts are made of. Numbers are pixels, written to a tenth."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

Point = tuple[float, float]

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #3d4451; }
.title { font-size: 18px; font-weight: 600; fill: #12161d; }
.grid { stroke: #e4e7ec; stroke-width: 1; }
.zero { stroke: #12161d; stroke-width: 1.2; }
.band { fill: #2563eb; fill-opacity: .16; }
.truth { fill: none; stroke: #12161d; stroke-width: 1.6; }
.estimate { fill: none; stroke: #2563eb; stroke-width: 1.6; }
.point { fill: #2563eb; }
"""


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, without a trailing zero."""
    return f"{value:.1f}".removesuffix(".0")


def line(start: Point, end: Point, kind: str) -> str:
    """A straight line of the style class `kind`."""
    ends = zip(("x1", "y1", "x2", "y2"), (*start, *end), strict=True)
    return f'<line class="{kind}" ' + " ".join(f'{name}="{number(value)}"' for name, value in ends) + "/>"


def path(points: Iterable[Point], kind: str, *, closed: bool = False) -> str:
    """A polygon or a polyline through the points."""
    shape = "polygon" if closed else "polyline"
    places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<{shape} class="{kind}" points="{places}"/>'


def dot(centre: Point, radius: float, kind: str) -> str:
    """A filled circle."""
    return f'<circle class="{kind}" cx="{number(centre[0])}" cy="{number(centre[1])}" r="{number(radius)}"/>'


def text(place: Point, content: str, anchor: str = "start", kind: str = "label") -> str:
    """One line of text; `anchor` is start, middle or end."""
    return (
        f'<text class="{kind}" x="{number(place[0])}" y="{number(place[1])}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )


def document(width: int, height: int, title: str, description: str, elements: Iterable[str]) -> str:
    """A whole file, with a title and a description for those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label={quoteattr(title)}>'
    )
    about = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, about, f"<style>{STYLE}</style>", paper, *elements, "</svg>", ""])
