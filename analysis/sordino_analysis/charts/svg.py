"""The few SVG elements that the charts are made of. Numbers are pixels, written to a tenth."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

Point = tuple[float, float]

# Steps of a colour scale; the class of step i is h0, h1, …
SHADES = 10
_FONT = '13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'


def _rules(ink: str, quiet: str, grid: str, paper: str, blue: str, amber: str, band: str) -> str:
    """The colours of every style class on one ground."""
    shades = "\n".join(
        f".h{step} {{ fill: {blue}; fill-opacity: {0.1 + 0.9 * step / (SHADES - 1):.2f}; }}" for step in range(SHADES)
    )
    return f"""
text {{ fill: {quiet}; }}
.title {{ fill: {ink}; }}
.paper {{ fill: {paper}; }}
.grid {{ stroke: {grid}; }}
.zero, .truth {{ stroke: {ink}; }}
.band {{ fill: {blue}; fill-opacity: {band}; }}
.estimate {{ stroke: {blue}; }}
.point {{ fill: {blue}; }}
.doubt {{ fill: {quiet}; fill-opacity: {band}; }}
.unsure {{ stroke: {quiet}; }}
.grey {{ fill: {quiet}; }}
.limit, .other {{ stroke: {amber}; }}
.mark {{ fill: {amber}; }}
{shades}
"""


# Text has at least 4.5 times the luminance contrast of its ground, lines of data 3 times (WCAG 2.1).
STYLE = (
    f"text {{ font: {_FONT}; }}\n.title {{ font-size: 18px; font-weight: 600; }}\n.small {{ font-size: 12px; }}\n"
    ".grid { stroke-width: 1; }\n.zero { stroke-width: 1.2; }\n"
    ".truth, .estimate, .other, .limit, .unsure { fill: none; stroke-width: 1.6; }\n.limit { stroke-dasharray: 6 4; }"
    + _rules("#12161d", "#3d4451", "#e4e7ec", "#ffffff", "#2563eb", "#b45309", ".16")
    + "@media (prefers-color-scheme: dark) {"
    + _rules("#edf0f5", "#c3cad6", "#2e3644", "#12161d", "#7aa7ff", "#f0b25a", ".26")
    + "}\n"
)


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


def upright_text(place: Point, content: str) -> str:
    """One line of text that is read upwards, centred on the place: the title of a vertical axis."""
    x, y = number(place[0]), number(place[1])
    place_of_text = f'x="{x}" y="{y}" text-anchor="middle" transform="rotate(-90 {x} {y})"'
    return f'<text class="label" {place_of_text}>{escape(content)}</text>'


def squares(places: Iterable[Point], width: float, height: float, kind: str) -> str:
    """Rectangles of one size and class by their upper left corners, as one element."""
    w, h = number(width), number(height)
    drawn = "".join(f"M{number(x)} {number(y)}h{w}v{h}h-{w}z" for x, y in places)
    return f'<path class="{kind}" d="{drawn}"/>'


def document(width: int, height: int, title: str, description: str, elements: Iterable[str]) -> str:
    """A whole file, with a title and a description for those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label={quoteattr(title)}>'
    )
    about = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    paper = f'<rect class="paper" width="{width}" height="{height}"/>'
    return "\n".join([head, about, f"<style>{STYLE}</style>", paper, *elements, "</svg>", ""])
