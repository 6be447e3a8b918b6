"""What the command line prints of a concept class: what is sure first, then some rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino_analysis.percentages import percent
from sordino_server.cli.output import print_table
from sordino_shared.quantities import quantity

_SHOWN = 10


def print_concepts(document: Mapping[str, Any], console: Console, truth: Mapping[str, float] | None = None) -> None:
    """The statement, the chosen rule with its band, the constants, and the rules with the least estimated losses.

    With `truth` by the text of the rule also the true losses.
    """
    level = percent(document["level"])
    lines = [
        f"[bold]{document['statement']}[/] ({level})",
        f"{_chosen(document)}: {document['rule']['text']}, {document['loss']:.4f}, band {_span(document['band'])}",
        f"better constant: {document['base']['rule']['text']}, {document['base']['loss']:.4f}, "
        f"band {_span(document['base']['band'])}",
        f"the rule exceeds the least of {document['concepts']:,} losses by at most {document['excess_at_most']:.4f}",
        f"{quantity(document['confidence_set']['size'], 'rule')} may be the best",
    ]
    if document["bias_bound"] > 0:
        lines.append(f"losses have a bias of at most {document['bias_bound']:.4f}: band, set and excess allow for it")
    if document["interval"] is not None:
        number = document["certified_by_round"]
        lines.insert(2, f"{level} interval of its loss from round {number}: {_span(document['interval'])}")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
    print_table(_table(document, level, truth))
    console.print(
        f"{quantity(document['users'], 'user')}, ε = {document['epsilon']:g}, mechanism {document['mechanism']}",
        highlight=False,
    )
    for warning in document["warnings"]:
        console.print(Text(warning, style="yellow"))


def _chosen(document: Mapping[str, Any]) -> str:
    return "chosen by the rounds" if len(document["rounds"]) > 1 else "least estimated loss"


def _table(document: Mapping[str, Any], level: str, truth: Mapping[str, float] | None) -> Table:
    headings = ("rule", "loss", "error", f"{level} band", "may be best", *(["truth"] if truth else []))
    # Without a box rules of three attributes fit into lines of 80 characters.
    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for each in document["rules"][:_SHOWN]:
        figures = [f"{each['loss']:.4f}", f"{each['standard_error']:.4f}", _span(each["band"])]
        known = [f"{truth[each['rule']['text']]:.4f}"] if truth else []
        table.add_row(Text(each["rule"]["text"]), *figures, "yes" if each["may_be_best"] else "no", *known)
    return table


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.4f} … {ends[1]:.4f}"
