"""The files of a site: one page for each campaign or series, its estimates, chart and documents, and the list of all.

Relative links, no script, no address of anybody else, light and dark. Equal results make equal bytes: no file says
when it was made.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import islice
from typing import Any

from sordino_analysis.answers.csv_text import csv_lines
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.shown import as_html, shown_answers
from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.crowd_size import LARGEST_HALF_WIDTH
from sordino_analysis.kinds.registry import kind_of_answers
from sordino_server.answers import picture
from sordino_server.answers.stored import read_estimate
from sordino_server.console.status_pages import FEWEST, counted
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Manifest

ID_DIGITS = 12
_SHOWN_ROWS = 200
# Of a number: no estimate is known to a hundred-thousandth of itself, and a year of weeks stays below 400 kB.
_DIGITS = 5
_SHARE = "share"
_STYLE = (
    ":root{color-scheme:light dark;background:#fff;color:#111}a{color:#0645ad}"
    "@media(prefers-color-scheme:dark){:root{background:#121212;color:#eee}a{color:#9ecbff}}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{border-bottom:1px solid #8886;padding:.2rem .8rem .2rem 0;text-align:left}"
    "img{max-width:100%;height:auto;background:#fff}"
    "blockquote{border-left:.25rem solid #8886;margin:1rem 0;padding-left:1rem;white-space:pre-line}"
)
_POLICY = (
    "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    f"style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


@dataclass(frozen=True, kw_only=True)
class PublishedResult:
    """What a server has of one campaign: its status, its documents, and estimates of closed rounds (None: none yet)."""

    status: dict[str, Any]
    manifest: bytes
    device_part: bytes
    estimates: bytes | None
    card: bytes

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return str(self.status["id"])[:ID_DIGITS]

    @property
    def name(self) -> str:
        return str(self.status["name"])


def site(results: Sequence[PublishedResult], title: str, base_url: str | None) -> dict[str, bytes]:
    """The files of the site by their names."""
    files = {".nojekyll": b"", "index.html": _index(results, title, base_url).encode()}
    for result in results:
        files |= {f"{result.folder}/{name}": content for name, content in _files(result, title, base_url).items()}
    return files


def _files(result: PublishedResult, title: str, base_url: str | None) -> dict[str, bytes]:
    files = {"manifest.cbor": result.manifest, "device-part.cbor": result.device_part, "card.json": result.card}
    answers, drawn = "", None
    if result.estimates is not None:
        estimate = read_estimate(result.estimates)
        few = too_few(estimate.table)
        if not few and is_drawable(estimate.table):
            drawn = picture.draw(result.estimates, result.name, FEWEST).encode()
            files["chart.svg"] = drawn
        files |= _tables(estimate)
        answers = _answers(estimate, result.name, drawn is not None, few)
    files["index.html"] = _page(result, answers, title, base_url).encode()
    return files


def _tables(estimate: EstimateDocument) -> dict[str, bytes]:
    """The answers as JSON and CSV: five digits of each number, and without the windows of a series, which overlap.

    The CSV has the columns of answers; what all have in common is in the JSON.
    """
    document = estimate.document()
    table = document["table"]
    parts = table.get("part", ["answer"] * len(estimate.table))
    rows = [row for row, part in enumerate(parts) if part != "window"]
    document["table"] = table = {name: [_short(cells[row]) for row in rows] for name, cells in table.items()}
    lines = csv_lines(list(table), zip(*table.values(), strict=True))
    return {"estimates.json": _compact(document), "estimates.csv": "".join(lines).encode()}


def _short(cell: Any) -> Any:
    return float(f"{cell:.{_DIGITS}g}") if isinstance(cell, float) else cell


def too_few(table: AnswerTable) -> bool:
    """Whether the answers are shares, and an interval reaches further than ten points to either side of its answer."""
    units = {unit or _SHARE for unit in table.columns.get("unit", ())}
    if units - {_SHARE} or "band_lower" not in table.columns:
        return False
    widths = [(upper - lower) / 2 for lower, upper in (ends for ends in table.ends("") if ends is not None)]
    return bool(widths) and max(widths) > LARGEST_HALF_WIDTH


def _answers(estimate: EstimateDocument, name: str, has_chart: bool, few: bool) -> str:
    kind = kind_of_answers(estimate.kind)
    rows = list(islice(range(len(estimate.table)), _SHOWN_ROWS))
    table = as_html(shown_answers(estimate.table, kind.row, rows=rows).titled(name))
    lines = ["<h2>Answers</h2>"]
    if few:
        lines.append("<p><strong>Too few to tell</strong>: some answers may be off by more than ten points.</p>")
    if has_chart:
        lines.append(
            '<p><img src="chart.svg" alt="The answers with their intervals; the table below has all numbers."></p>'
        )
    if len(rows) < len(estimate.table):
        lines.append(f"<p>The first {len(rows)} of {len(estimate.table):,} answers; the files have all.</p>")
    files = '<p><a href="estimates.csv">estimates.csv</a> · <a href="estimates.json">estimates.json</a></p>'
    return "\n".join([*lines, table, files])


def _page(result: PublishedResult, answers: str, title: str, base_url: str | None) -> str:
    status, manifest = result.status, Manifest.read(result.manifest)
    guarantee = manifest.device_guarantee
    facts = [
        ("State", _state(status)),
        ("Privacy", f"{guarantee} of one device over all its answers. {PureEpsilon.sentence(guarantee)}"),
        ("Asked about", ", ".join(each.name for each in manifest.domain.attributes)),
        ("About whom", f"devices of “{manifest.population}” whose owners agreed: not all users"),
        *([("Began", _day(status["opened_at"]))] if status.get("opened_at") else []),
        *([("Ended", _day(status["closed_at"]))] if status.get("closed_at") else []),
        *([] if status.get("series") else [("Reports", _reports(status))]),
        ("Id", str(status["id"])),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    texts = "".join(
        f'<blockquote lang="{escape(text.language)}">{escape(text.purpose)}</blockquote>' for text in manifest.texts
    )
    body = (
        f'<p><a href="../index.html">{escape(title)}</a></p>\n<h1>{escape(result.name)}</h1>\n'
        f"<blockquote>{escape(manifest.purpose)}</blockquote>{texts}\n<dl>{listed}</dl>\n"
        f"{answers or '<p>There are no answers yet: rounds and periods are published when they are closed.</p>'}\n"
        '<p>What devices verify: <a href="manifest.cbor">manifest.cbor</a> · '
        '<a href="device-part.cbor">device-part.cbor</a> · <a href="card.json">card.json</a></p>'
    )
    return _document(result.name, body, base_url and f"{base_url}/{result.folder}/")


def _index(results: Sequence[PublishedResult], title: str, base_url: str | None) -> str:
    rows = "".join(
        f'<tr><td><a href="{result.folder}/index.html">{escape(result.name)}</a></td>'
        f"<td>{escape(_state(result.status))}</td><td>{'yes' if result.estimates else 'not yet'}</td></tr>"
        for result in results
    )
    head = '<tr><th scope="col">question</th><th scope="col">state</th><th scope="col">answers</th></tr>'
    body = (
        f"<h1>{escape(title)}</h1>\n<table><caption>Questions</caption><thead>{head}</thead><tbody>{rows}</tbody></table>\n"
        "<p>Every device adds noise to its answer before it is sent: no report says what a device holds. "
        "Answers are about devices whose owners agreed.</p>"
    )
    return _document(title, body, base_url and f"{base_url}/")


def _document(title: str, body: str, canonical: str | None) -> str:
    link = f'<link rel="canonical" href="{escape(canonical)}">\n' if canonical else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{link}<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _state(status: dict[str, Any]) -> str:
    if status["state"] == "cancelled":
        return "cancelled: its operator took it back, and it has no answers"
    return str(status["state"])


def _reports(status: dict[str, Any]) -> str:
    return counted(sum(each["reports"] for each in status["rounds"]), status["state"] == "open")


def _day(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _compact(document: dict[str, Any]) -> bytes:
    """JSON without blanks, in the document's order."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
