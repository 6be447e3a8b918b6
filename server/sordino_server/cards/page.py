"""A card as one HTML file: no script, nothing loaded, prints on two pages of A4."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape

from sordino_server.cards.schemas import Card, CardField, CardPart

_STYLE = (
    "@page{size:A4;margin:12mm}:root{color-scheme:light dark}"
    "body{font:.85rem/1.35 system-ui,sans-serif;max-width:60rem;margin:1.5rem auto;padding:0 1rem;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.3rem;margin:.2rem 0}h2{font-size:1rem;margin:.9rem 0 .2rem;break-after:avoid}"
    "table{width:100%;border-collapse:collapse}"
    "th,td{border-bottom:1px solid #8886;padding:.15rem .6rem .15rem 0;text-align:left;vertical-align:top;"
    "white-space:pre-line}th{width:34%;font-weight:600}.none{color:#b00;font-style:italic}"
    "html{background:#fff;color:#1a1a1a}"
    "@media(prefers-color-scheme:dark){html{background:#121212;color:#eee}.none{color:#ff9d9d}}"
    "@media print{body{font-size:8pt;margin:0;max-width:none;padding:0}}"
)
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    f"style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


def page(card: Card) -> str:
    """The document; equal cards make equal text."""
    title = escape(f"Card of {card.name}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"<p>{card.subject} {escape(card.id)}</p>\n{''.join(map(_part, card.parts))}</main>\n</body>\n</html>\n"
    )


def _part(part: CardPart) -> str:
    rows = "".join(map(_row, part.fields))
    return f'<section id="{escape(part.name)}">\n<h2>{escape(part.title)}</h2>\n<table>\n{rows}</table>\n</section>\n'


def _row(field: CardField) -> str:
    shown = escape(field.text) if field.stated else f'<span class="none">{escape(field.text)}</span>'
    return f'<tr id="{escape(field.name)}"><th scope="row">{escape(field.title)}</th><td>{shown}</td></tr>\n'
