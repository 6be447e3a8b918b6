"""What `sordino release` and `sordino datasets` print of releases."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sordino_analysis.answers.reading import checked_parts, document_of
from sordino_analysis.answers.shown import shown_answers
from sordino_analysis.figures import chosen, figure, with_error
from sordino_server.cli.estimate_text import print_lines, print_shown
from sordino_server.releases.schemas import ReleaseExtras
from sordino_shared.quantities import quantity


def release_lines(status: dict[str, Any]) -> list[str]:
    """How far a release is."""
    lines = [
        f"release {status['id']}: {status['state']}, ρ = {chosen(status['rho'])}",
        f"workload {status['workload']}",
    ]
    return [*lines, status["error"]] if status["error"] else lines


def print_answers(document: dict[str, Any]) -> None:
    """Every answer of a release with its errors."""
    table = document_of(checked_parts(document), ReleaseExtras).table
    print_shown(shown_answers(table))
    print_lines(_terms(document["terms"], document["extras"]))


def _terms(terms: dict[str, Any], extras: dict[str, Any]) -> list[str]:
    own = extras["guarantee"]
    rows = quantity(terms["users"], "row") if extras["rows"] is None else _noisy(extras["rows"])
    return [
        f"release {terms['release']} from {terms['dataset']}: {rows}{_bound(extras['unbiased_bound'])}",
        guarantee_text(own["rho"], own["epsilon"], own["delta"], own["neighbours"], own["unit"]),
    ]


def _bound(unbiased: dict[str, Any]) -> str:
    """How far from the best; nothing where no bound is proved."""
    if unbiased["ratio_max"] is None:
        return ""
    premise = f", if {unbiased['premise']}" if unbiased.get("premise") else ""
    return f"; worst variance {figure(unbiased['ratio_max'])} × the lower bound for unbiased releases{premise}"


def write_plan(content: bytes, folder: Path) -> str:
    """Write the files that `sordino audit` reads; gives the plan's digest."""
    digest = hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curator.cbor").write_bytes(content)
    (folder / "plan.json").write_text(json.dumps({"digests": {"curator": digest}}) + "\n", encoding="utf-8")
    return digest


def _noisy(rows: dict[str, Any]) -> str:
    return f"counts, of about {with_error(rows['value'], rows['standard_error'], '')} rows"


def guarantee_text(rho: float, epsilon: float, delta: float, neighbours: str, unit: str) -> str:
    """What is kept, and of what."""
    kept = f"the content of one {unit}" if neighbours == "replace" else f"one {unit}, and whether it is there"
    return f"ρ = {chosen(rho)} (ε = {figure(epsilon)} at δ = {chosen(delta)}) protects {kept}"
