"""What intervals came to over all cells, as tables: which hold, which warn, and which warn without need."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.accuracy.coverage_cases import Cell
from benchmarks.accuracy.coverage_runs import Tried

LEVEL, TOLERANCE = 0.95, 0.015
# A cell warns if most of its campaigns do.
_MOST = 0.5


def holds(row: Tried) -> bool:
    """Whether coverage is 95 ± 1.5 %, or there was nothing to cover and no value was made up."""
    if row.coverage is None:
        return row.made_up <= 0.0
    return abs(row.coverage - LEVEL) <= TOLERANCE + 1e-9


def may_hold(row: Tried) -> bool:
    """Whether coverage is 95 ± 1.5 % up to two standard errors of so many campaigns."""
    slack = 2 * math.sqrt(LEVEL * (1 - LEVEL) / row.campaigns)
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
    """The summary by statistic and protocol, then every cell that does not hold, and what was said of it."""
    return "\n\n".join([_summary(rows), _cells([row for row in rows if not may_hold(row) or warns(row)])])


def _summary(rows: Sequence[Tried]) -> str:
    head = ["statistic", "protocol", "cells", "no warning", "their mean coverage", "least", "most", "within 95 ± 1.5"]
    head += ["as far as chance tells", "warned", "of these needlessly"]
    lines = [head, ["---"] * len(head)]
    pairs = list(dict.fromkeys((row.cell.statistic, row.cell.protocol) for row in rows))
    for statistic, protocol in pairs:
        chosen = [row for row in rows if (row.cell.statistic, row.cell.protocol) == (statistic, protocol)]
        lines.append([statistic, protocol, *_counts(chosen)])
    lines.append(["all", "", *_counts(rows)])
    return _markdown(lines)


def _counts(rows: Sequence[Tried]) -> list[str]:
    warned = [row for row in rows if warns(row)]
    silent = [row for row in rows if not warns(row)]
    known = [row.coverage for row in silent if row.coverage is not None]
    extremes = (
        [_percent(number) for number in (sum(known) / len(known), min(known), max(known))] if known else ["—"] * 3
    )
    told = [sum(map(holds, silent)), sum(map(may_hold, silent)), len(warned)]
    told.append(sum(row.coverage is not None and holds(row) for row in warned))
    return [str(len(rows)), str(len(silent)), *extremes, *map(str, told)]


def _cells(rows: Sequence[Tried]) -> str:
    head = ["statistic", "protocol", "ε", "n", "population", "coverage", "of the population's", "doubted", "unbounded"]
    head += ["no value", "refused"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cell = row.cell
        lines.append([cell.statistic, cell.protocol, f"{cell.epsilon:g}", str(cell.users), cell.population])
        shares = (row.doubted, row.unbounded, row.valueless, row.refused)
        lines[-1] += [_percent(row.coverage), _percent(row.population), *map(_percent, shares)]
    return _markdown(lines)


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{100 * share:.1f}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
