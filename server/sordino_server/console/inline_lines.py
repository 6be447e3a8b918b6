"""Lines over time and against the number of devices, as numbers that templates draw in the page's colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_analysis.figures import SHARE, amount, chosen, figure
from sordino_server.campaigns.progress import CampaignProgress
from sordino_server.console.inline_pictures import Frame

# Pictures as wide as a page, as two thirds of one, as a third, and as a phone.
WIDE = Frame(width=1040, height=250, left=40, right=1024, top=16, bottom=220)
BROAD = Frame(width=660, height=280, left=60, right=640, top=36, bottom=246)
SMALL = Frame(width=330, height=220, left=52, right=318, top=16, bottom=182)
PHONE = Frame(width=358, height=250, left=52, right=346, top=36, bottom=216)
_DAY_S = 86_400
# Digits of the logarithm that tell 300, 1,000 and 3,000 apart.
_DECADE = (1, 3)
_CHARACTER, _BOLD_CHARACTER = 7.5, 9.0
# Of the error now or with the number wanted, so many times it is the highest that is drawn.
_HIGHEST = 2.5


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A dot with a word, which begins at `begin`; a `solid` one is of now."""

    x: float
    y: float
    text: str
    begin: float
    solid: bool


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A line, the area below it, a dashed line of what is expected or allowed, and marks, in pixels."""

    frame: Frame
    up: tuple[tuple[float, str], ...]
    across: tuple[tuple[float, str, str], ...]
    line: str
    area: str = ""
    wish: str = ""
    limit: tuple[float, str] | None = None
    marks: tuple[Mark, ...] = ()


def budget_lines(
    steps: Sequence[tuple[int, float]], limit: float | None, limit_text: str, now: int, frame: Frame
) -> Lines:
    """ε from each moment on, below its limit: stairs until now. The moments are Unix times, in order."""
    begin = min(steps[0][0], now - _DAY_S)
    high = max(max(value for _, value in steps), limit or 0.0) or 1.0
    across, up = Scale(begin, now, frame.left, frame.right), Scale(0.0, 1.15 * high, frame.bottom, frame.top)
    corners: list[tuple[float, float]] = []
    for moment, value in steps:
        corners += [(moment, corners[-1][1]), (moment, value)] if corners else [(moment, value)]
    corners.append((now, corners[-1][1]))
    points = [(round(across(x), 1), round(up(y), 1)) for x, y in corners]
    ticks = [each for each in round_ticks(0.0, high, 4) if limit is None or abs(each - limit) > 0.05 * high]
    return Lines(
        frame=frame,
        up=tuple((round(up(each), 1), chosen(each)) for each in ticks),
        across=_times([begin, (begin + now) // 2, now], across, "today", frame),
        line=_joined(points),
        area=_area(points, frame),
        limit=None if limit is None else (round(up(limit), 1), limit_text),
    )


def report_lines(
    steps: Sequence[tuple[int, int]], opened: int, now: int, progress: CampaignProgress, frame: Frame
) -> Lines:
    """Reports counted until `now`, or a round's end, against the number wanted; dashed: at the rate of the hour."""
    wanted, last = progress.wanted, steps[-1][1] if steps else 0
    ends = progress.closes_about
    until = now if ends is None or wanted is None else max(now, ends)
    high = max(last, wanted or 0, 1)
    across = Scale(opened, max(until, opened + 60), frame.left, frame.right)
    up = Scale(0.0, 1.1 * high, frame.bottom, frame.top)
    seen = [(opened, 0), *((moment, count) for moment, count in steps if moment >= opened), (now, last)]
    points = [(round(across(x), 1), round(up(y), 1)) for x, y in _thinned(seen)]
    here = points[-1]
    wish = ""
    if until > now and progress.rate:
        then = last + progress.rate * (until - now)
        wish = _joined([here, (round(across(until), 1), round(up(min(then, high)), 1))])
    return Lines(
        frame=frame,
        up=tuple((round(up(each), 1), f"{int(each):,}") for each in round_ticks(0.0, high, 5) if each == int(each)),
        across=_times([opened, now, until], across, "now" if until > now or progress.is_open else "closed", frame),
        line=_joined(points),
        area=_area(points, frame),
        wish=wish,
        limit=None if wanted is None else (round(up(wanted), 1), f"wanted: {wanted:,}"),
        marks=(Mark(x=here[0], y=here[1], text="", begin=here[0], solid=True),),
    )


def error_lines(progress: CampaignProgress, frame: Frame) -> Lines | None:
    """The ± of all answers at once against the number of devices, on a ratio scale; None where no formula tells it."""
    if not progress.curve:
        return None
    # Few devices tell nothing: their errors would flatten the rest.
    known = [each for each in (progress.band_now, progress.band_wanted) if each is not None]
    first = progress.curve[0].band
    high = min(first, _HIGHEST * max(known)) if known else first
    curve = [each for each in progress.curve if each.band <= high]
    if len(curve) < 2:
        return None
    across = Scale(math.log10(curve[0].devices), math.log10(curve[-1].devices), frame.left, frame.right)
    up = Scale(0.0, high, frame.bottom, frame.top)
    points = [(round(across(math.log10(each.devices)), 1), round(up(each.band), 1)) for each in curve]
    return Lines(
        frame=frame,
        up=tuple((round(up(each), 1), plus_minus(each, progress)) for each in round_ticks(0.0, high, 4)),
        across=tuple((x, text, "middle") for x, text in _ratio_ticks(curve[0].devices, curve[-1].devices, across)),
        line=_joined(points),
        marks=tuple(_error_marks(progress, across, up, frame)),
    )


def _error_marks(progress: CampaignProgress, across: Scale, up: Scale, frame: Frame) -> list[Mark]:
    told = [
        (progress.devices, progress.band_now, "now", True),
        (progress.wanted, progress.band_wanted, "wanted", False),
    ]
    marks = []
    for devices, band, word, solid in told:
        if devices and band is not None and band <= up.high:
            x, text = round(across(math.log10(devices)), 1), f"{word} {plus_minus(band, progress)}"
            # At the right the word begins left of its dot, above the line that falls to it.
            begin = round(min(x + 8, frame.width - _BOLD_CHARACTER * len(text)), 1)
            marks.append(Mark(x=x, y=round(up(band), 1), text=text, begin=begin, solid=solid))
    return marks


def plus_minus(band: float, progress: CampaignProgress) -> str:
    """An error as people see it: of shares in points, of means in their unit, else in per cent of their range."""
    if progress.scale is None:
        return "± " + amount(band, SHARE, band).removesuffix(" %")
    if progress.unit:
        return f"± {amount(band, progress.unit, band)}"
    return f"± {amount(band / progress.scale, SHARE, band / progress.scale)}"


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _area(points: Sequence[tuple[float, float]], frame: Frame) -> str:
    return _joined([(points[0][0], frame.bottom), *points, (points[-1][0], frame.bottom)])


def _thinned(seen: Sequence[tuple[int, int]], most: int = 60) -> list[tuple[int, int]]:
    """Every k-th step and the last: a picture has no room for more."""
    every = max(1, -(-len(seen) // most))
    return [*seen[:-1:every], seen[-1]]


def _times(moments: Sequence[int], across: Scale, now_text: str, frame: Frame) -> tuple[tuple[float, str, str], ...]:
    """Begin, middle and end of an axis of time; the end is today, else the middle is called `now_text`."""
    begin, middle, end = moments
    form = "%-d %b" if end - begin >= 2 * _DAY_S else "%H:%M"
    texts = [datetime.fromtimestamp(each, UTC).strftime(form) for each in moments]
    if now_text != "today":
        texts[1] = now_text
        placed = [(across(begin), texts[0], "start"), (across(middle), texts[1], "middle")]
        room = across(end) - across(middle) > 70
        placed += [(across(end), texts[2], "end")] if end > middle and room else []
        near = across(middle) - across(begin) < 60
        placed = placed[1:] if near else placed
        if placed and placed[-1][1] == now_text and across(middle) > frame.right - 20:
            placed[-1] = (across(middle), now_text, "end")
        return tuple((round(x, 1), text, anchor) for x, text, anchor in placed)
    texts[2] = now_text
    anchors = ("start", "middle", "end")
    return tuple(
        (round(across(each), 1), text, anchor) for each, text, anchor in zip(moments, texts, anchors, strict=True)
    )


def _ratio_ticks(low: int, high: int, across: Scale) -> list[tuple[float, str]]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [first * 10**power for power in powers for first in _DECADE if low <= first * 10**power <= high]
    kept = room_for([(math.log10(each), figure(each, 1)) for each in numbers], across, _CHARACTER)
    return [(round(across(place), 1), text) for place, text in kept]
