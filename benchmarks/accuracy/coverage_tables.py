"""What intervals came to over all cells, as tables: which hold, which warn, and which warn without need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.accuracy.coverage_cases import Cell
from benchmarks.accuracy.coverage_runs import LEVEL, Tried

TOLERANCE = 0.015
# A cell warns if most of its campaigns do.
_MOST = 0.5


def holds(row: Tried) -> bool:
    """Whether coverage is 95 ± 1.5 %, or there was nothing to cover and no value was made up."""
    if row.coverage is None:
        return row.made_up <= 0.0
    return abs(row.coverage - LEVEL) <= TOLERANCE + 1e-9


def may_hold(row: Tried) -> bool:
    """Whether coverage is 95 ± 1.5 % up to two standard errors."""
    slack = 2 * row.standard_error
    return holds(row) or (row.coverage is not None and abs(row.coverage - LEVEL) <= TOLERANCE + slack)


def warns(row: Tried) -> bool:
    """Whether most campaigns said that their interval may not hold, or is all that can be."""
    return row.doubted + row.unbounded > _MOST


def written_line(row: Tried) -> str:
    """As JSON."""
    return json.dumps(asdict(row), sort_keys=True)


def read_line(line: str) -> Tried:
    """The row that `written_line` wrote."""
    plain = json.loads(line)
    return Tried(**(plain | {"cell": Cell(**plain["cell"])}))


def tables(rows: Sequence[Tried]) -> str:
    """The summary by statistic and protocol, then every cell without a warning that is off beyond chance."""
    off = [row for row in rows if not may_hold(row) and not warns(row)]
    campaigns = sorted(row.campaigns for row in rows)
    known = f"{len(rows)} cells of {campaigns[0]} to {campaigns[-1]} campaigns." if rows else "No cell."
    told = f"Without a warning and off by more than two standard errors: {len(off)} cells."
    return "\n\n".join([known, _summary(rows), told, *([_cells(off)] if off else [])])


def all_lines(rows: Sequence[Tried]) -> str:
    """Every cell."""
    return _cells(rows)


def _summary(rows: Sequence[Tried]) -> str:
    head = ["statistic", "protocol", "cells", "no warning", "their mean coverage", "smallest", "largest"]
    head += ["within 95 ± 1.5", "within two standard errors", "doubtful", "of these within 95 ± 1.5", "whole range"]
    lines = [head, ["---"] * len(head)]
    pairs = list(dict.fromkeys((row.cell.statistic, row.cell.protocol) for row in rows))
    for statistic, protocol in pairs:
        chosen = [row for row in rows if (row.cell.statistic, row.cell.protocol) == (statistic, protocol)]
        lines.append([f"`{statistic}`", f"`{protocol}`", *_counts(chosen)])
    lines.append(["all", "", *_counts(rows)])
    return _markdown(lines)


def _counts(rows: Sequence[Tried]) -> list[str]:
    silent, doubtful, whole = [], [], []
    for row in rows:
        (doubtful if row.doubted > _MOST else whole if warns(row) else silent).append(row)
    known = [row.coverage for row in silent if row.coverage is not None]
    extremes = [_percent(number) for number in (sum(known) / len(known), min(known), max(known))] if known else []
    numbers = [sum(map(holds, silent)), sum(map(may_hold, silent)), len(doubtful)]
    numbers += [sum(row.coverage is not None and holds(row) for row in doubtful), len(whole)]
    return [str(len(rows)), str(len(silent)), *(extremes or ["—"] * 3), *map(str, numbers)]


def _cells(rows: Sequence[Tried]) -> str:
    head = ["statistic", "protocol", "ε", "n", "population", "campaigns", "coverage", "standard error"]
    head += ["of the population's", "doubted", "whole range", "no value"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cell = row.cell
        lines.append([f"`{cell.statistic}`", f"`{cell.protocol}`", f"{cell.epsilon:g}", str(cell.users)])
        lines[-1] += [cell.population.replace("_", " "), str(row.campaigns)]
        shares = (row.coverage, row.standard_error, row.population, row.doubted, row.unbounded, row.valueless)
        lines[-1] += map(_percent, shares)
    return _markdown(lines)


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{100 * share:.1f}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
