"""What `sordino release` and `sordino datasets` print of releases."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rich.table import Table

from sordino_analysis.figures import amount, span
from sordino_analysis.percentages import percent
from sordino_server.cli.output import console, print_table
from sordino_shared.quantities import quantity


def release_lines(status: dict[str, Any]) -> list[str]:
    """How far a release is."""
    lines = [f"release {status['id']}: {status['state']}, ρ = {status['rho']:g}", f"workload {status['workload']}"]
    return [*lines, status["error"]] if status["error"] else lines


def print_answers(document: dict[str, Any]) -> None:
    """Every answer of a release with its errors."""
    level = percent(document["level"])
    table = Table("query", "value", "standard error", f"{level} interval", f"{level} band", "consistent")
    for query in document["queries"]:
        unit = query["unit"]
        spans = [span(query[name], unit) for name in ("interval", "band")]
        value, error, consistent = (amount(query[name], unit) for name in ("value", "standard_error", "consistent"))
        table.add_row(query["label"], value, error, *spans, consistent)
    print_table(table)
    for line in _terms(document):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _terms(document: dict[str, Any]) -> list[str]:
    own = document["guarantee"]
    rows = quantity(document["users"], "row") if document["rows"] is None else _noisy(document["rows"])
    return [
        f"release {document['release']} from {document['dataset']}: {rows}{_bound(document['unbiased_bound'])}",
        guarantee_text(own["rho"], own["epsilon"], own["delta"], own["neighbours"], own["unit"]),
        *(f"warning: {warning}" for warning in document["warnings"]),
    ]


def _bound(unbiased: dict[str, Any]) -> str:
    """How far from the best; nothing where no bound is proved."""
    if unbiased["ratio_max"] is None:
        return ""
    premise = f", if {unbiased['premise']}" if unbiased.get("premise") else ""
    return f"; worst variance {unbiased['ratio_max']:.4g} × the lower bound for unbiased releases{premise}"


def write_plan(content: bytes, folder: Path) -> str:
    """Write the files that `sordino audit` reads; gives the plan's digest."""
    digest = hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curator.cbor").write_bytes(content)
    (folder / "plan.json").write_text(json.dumps({"digests": {"curator": digest}}) + "\n", encoding="utf-8")
    return digest


def _noisy(rows: dict[str, Any]) -> str:
    return f"counts, of about {rows['value']:,.0f} rows (standard error {rows['standard_error']:,.0f})"


def guarantee_text(rho: float, epsilon: float, delta: float, neighbours: str, unit: str) -> str:
    """What is kept, and of what."""
    kept = f"the content of one {unit}" if neighbours == "replace" else f"one {unit}, and whether it is there"
    return f"ρ = {rho:g} (ε = {epsilon:.4g} at δ = {delta:g}) protects {kept}"
