"""Pages as HTML: the templates of this folder, everything escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from sordino_analysis.figures import amount, chosen, figure, number_span, span
from sordino_analysis.percentages import percent
from sordino_server import __version__
from sordino_server.console.budget_words import date_of, minute_of
from sordino_server.console.help_links import help_for
from sordino_server.console.words import meaning
from sordino_server.kit.times import iso_8601_or_none
from sordino_shared.guarantees import NANO
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from jinja2 import Environment

# No script, style, frame or form of another address, and none within a page.
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
_FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Link:
    """An address of this server and what a page calls it."""

    path: str
    text: str


def render(template: str, title: str, *, visitor: object = None, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template; `visitor` is who is signed in."""
    fixed = {"title": title, "visitor": visitor, "status": status, "here": "", "version": __version__}
    fixed["help"] = help_for(template.removesuffix(".html"))
    return HTMLResponse(_environment().get_template(template).render({**fixed, **values}), status, HEADERS)


def fragment(template: str, **values: Any) -> str:
    """A part of a page that is the same for every visitor."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    # Here, since a process without visitors needs no templates.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters |= {
        "moment": _moment,
        "day": _day,
        "date": date_of,
        "minute": minute_of,
        "count": _count,
        "quantity": quantity,
        "figure": _figure,
        "percent": _percent,
        "level": percent,
        "amount": amount,
        "span": span,
        "number_span": number_span,
        "epsilon": _epsilon,
    }
    environment.globals["form_number"] = form_number
    environment.globals["meaning"] = meaning
    return environment


def form_number() -> str:
    """A number for one form of one page, so that the form counts once however often it is sent."""
    return secrets.token_urlsafe(16)


def _moment(unix: int | None) -> str:
    """2026-11-22 14:05:00 UTC, or a dash."""
    text = iso_8601_or_none(unix)
    return "–" if text is None else text.replace("T", " ").replace("Z", " UTC")


def _day(unix: int | None) -> str:
    """2026-11-22, or a dash."""
    return "–" if unix is None else str(iso_8601_or_none(unix))[:10]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _figure(number: float | None) -> str:
    """Four significant digits, or a dash."""
    return "–" if number is None or not math.isfinite(number) else figure(number)


def _epsilon(nano: int) -> str:
    """A whole number of nano-ε as ε."""
    return chosen(nano / NANO)


def _percent(number: float | None) -> str:
    return "–" if number is None else percent(number, 2)
