"""Two kinds of Mermaid diagram as SVG: sequences and states. No script, so that nothing is loaded to draw them.

A line that is not understood is an error that names it: a diagram is whole, or the site is not built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

_CHARACTER = 7.2
_ROW = 34
_BOX = 30
_MARGIN = 10
_SENT = re.compile(r"(\w+)(--?)>>(\w+): (.+)")
_NOTE = re.compile(r"Note over (\w+)(?:,(\w+))?: (.+)")
_STEP = re.compile(r"(\[\*\]|\w+) --> (\[\*\]|\w+)")


class DiagramError(ValueError):
    """A line that no picture can be drawn of; the message quotes it."""


def picture(text: str) -> str:
    """The SVG of a diagram; raises DiagramError for a kind or a line that is not drawn."""
    kind, *lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if kind == "sequenceDiagram":
        return _sequence(lines)
    if kind == "stateDiagram-v2":
        return _states(lines)
    raise DiagramError(f"{kind!r} is not drawn: write sequenceDiagram or stateDiagram-v2")


@dataclass
class _Canvas:
    """Elements of a picture, and how far they reach, in pixels."""

    label: str
    width: float = 0
    height: float = 0
    elements: list[str] = field(default_factory=list)

    def box(self, left: float, top: float, width: float, text: str, kind: str = "box") -> None:
        self.elements.append(
            f'<rect class="{kind}" x="{left:g}" y="{top:g}" width="{width:g}" height="{_BOX}" rx="4"/>'
        )
        self.text(left + width / 2, top + 20, text)
        self.width, self.height = max(self.width, left + width), max(self.height, top + _BOX)

    def text(self, middle: float, base: float, text: str) -> None:
        self.elements.append(f'<text x="{middle:g}" y="{base:g}" text-anchor="middle">{escape(text)}</text>')

    def arrow(self, begin: tuple[float, float], end: tuple[float, float], dashed: bool = False) -> None:
        style = ' stroke-dasharray="5 4"' if dashed else ""
        path = f"M{begin[0]:g} {begin[1]:g} L{end[0]:g} {end[1]:g}"
        self.elements.append(f'<path class="line" d="{path}"{style} marker-end="url(#head)"/>')

    def svg(self) -> str:
        width, height = self.width + _MARGIN, self.height + _MARGIN
        head = (
            '<marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
            '<path class="head" d="M0 0 L9 4 L0 8 Z"/></marker>'
        )
        opening = f'<svg role="img" aria-label="{escape(self.label)}" width="{width:g}" height="{height:g}"'
        return f'{opening} viewBox="0 0 {width:g} {height:g}"><defs>{head}</defs>{"".join(self.elements)}</svg>'


def _wide(text: str) -> float:
    return len(text) * _CHARACTER + 2 * _MARGIN


def _sequence(lines: list[str]) -> str:
    names = [line.split()[1] for line in lines if line.startswith("participant ")]
    rows = [line for line in lines if not line.startswith("participant ")]
    places = _columns(names, rows)
    canvas = _Canvas(f"Sequence between {', '.join(names)}; its text follows")
    bottom = _MARGIN + _BOX + len(rows) * _ROW + _MARGIN
    for name in names:
        middle = places[name]
        line = f'x1="{middle:g}" x2="{middle:g}" y1="{_MARGIN + _BOX}" y2="{bottom:g}"'
        canvas.elements.append(f'<line class="lifeline" {line}/>')
        canvas.box(middle - _wide(name) / 2, _MARGIN, _wide(name), name)
    for at, row in enumerate(rows):
        top = _MARGIN + _BOX + _MARGIN + at * _ROW
        if sent := _SENT.fullmatch(row):
            begin, end = places[sent[1]], places[sent[3]]
            canvas.arrow((begin, top + 22), (end, top + 22), dashed=sent[2] == "--")
            canvas.text((begin + end) / 2, top + 16, sent[4])
        elif note := _NOTE.fullmatch(row):
            middle = (places[note[1]] + places[note[2] or note[1]]) / 2
            canvas.box(middle - _wide(note[3]) / 2, top, _wide(note[3]), note[3])
        else:
            raise DiagramError(f"no line of a sequence: {row!r}")
    canvas.height = max(canvas.height, bottom)
    return canvas.svg()


def _columns(names: list[str], rows: list[str]) -> dict[str, float]:
    """The middle of each participant: so far apart that what stands between or above two of them has room."""
    gaps = [(_wide(one) + _wide(other)) / 2 + 2 * _MARGIN for one, other in pairwise(names)]
    left = max(map(_wide, names)) / 2
    for row in rows:
        found = _SENT.fullmatch(row) or _NOTE.fullmatch(row)
        if found is None:
            continue
        other = found[3] if found.re is _SENT else found[2] or found[1]
        if found[1] not in names or other not in names:
            raise DiagramError(f"no participant of that name: {row!r}")
        one, two = sorted((names.index(found[1]), names.index(other)))
        needed = _wide(found[found.re.groups])
        if one == two:
            left = max(left, needed / 2) if one == 0 else left
        elif (lacking := needed - sum(gaps[one:two])) > 0:
            gaps[one:two] = [gap + lacking / (two - one) for gap in gaps[one:two]]
    places, at = {}, left + _MARGIN
    for name, gap in zip(names, [*gaps, 0.0], strict=True):
        places[name] = at
        at += gap
    return places


def _states(lines: list[str]) -> str:
    steps = []
    for line in lines:
        if (step := _STEP.fullmatch(line)) is None:
            raise DiagramError(f"no line of a state diagram: {line!r}")
        steps.append((step[1], step[2]))
    level, final = _levels(steps), {one for one, other in steps if other == "[*]"}
    canvas = _Canvas(f"States {', '.join(level)}; the text follows")
    width = max(map(_wide, level))
    places: dict[str, tuple[float, float]] = {}
    # The main row is the way through; below it stands what is reached from several states.
    for name, column in sorted(level.items(), key=lambda each: sum(other == each[0] for _, other in steps)):
        row = sum(1 for other in places if level[other] == column)
        places[name] = (_MARGIN + column * (width + 50), _MARGIN + row * (_BOX + 60))
    for name, (left, top) in places.items():
        canvas.box(left, top, width, name)
        if name in final:
            inner = f'x="{left + 3:g}" y="{top + 3:g}" width="{width - 6:g}" height="{_BOX - 6}" rx="3"'
            canvas.elements.append(f'<rect class="line" {inner}/>')
    for one, other in steps:
        if one != "[*]" and other != "[*]":
            canvas.arrow(*_way(places[one], places[other], width))
    return canvas.svg()


def _way(
    one: tuple[float, float], other: tuple[float, float], width: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """From the right side of a box to the next in its row, from its lower side to one that stands below."""
    if one[1] == other[1]:
        return (one[0] + width, one[1] + _BOX / 2), (other[0], other[1] + _BOX / 2)
    if one[0] == other[0]:
        return (one[0] + width / 2, one[1] + _BOX), (other[0] + width / 2, other[1])
    return (one[0] + width / 2, one[1] + _BOX), (other[0], other[1] + _BOX / 2)


def _levels(steps: list[tuple[str, str]]) -> dict[str, int]:
    """Each state's column: the longest way to it."""
    level = {name: 0 for step in steps for name in step if name != "[*]"}
    for _ in level:
        for one, other in steps:
            if "[*]" not in (one, other):
                level[other] = max(level[other], level[one] + 1)
    if max(level.values()) >= len(level):
        raise DiagramError("the states go round in a circle, which is not drawn")
    return level
