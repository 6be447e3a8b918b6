"""A comparison as one row of a Markdown table."""

from __future__ import annotations

from typing import Any

from benchmarks.tuning.measure import Comparison, Run
from benchmarks.tuning.tables import Constant

HEAD = "| constant | value | case | half | twice |\n|---|---|---|---|---|"
# Changes of less than a tenth of a per mille are written as none, and times below this are not compared.
_LEAST_CHANGE, _LEAST_SECONDS = 1e-4, 0.2


def row(comparison: Comparison) -> str:
    """The constant, its value, the case, and what happens at half and at twice the value."""
    halves = [_moved(comparison.once, *comparison.moved[factor]) for factor in sorted(comparison.moved)]
    return f"| {comparison.constant} | {_shown(comparison.value)} | {comparison.case} | {' | '.join(halves)} |"


def unread(constant: Constant) -> str:
    """The row of a constant that no case reads."""
    return f"| {constant.name} | {_shown(constant.value)} | no case reads it | | |"


def _moved(once: Run, value: Any, run: Run) -> str:
    """Changes of error and bound relative to those at the value, and of the processor time."""
    if run.outcome is None or once.outcome is None:
        return f"{_shown(value)}: {run.refusal or once.refusal}".replace("|", "/")[:120]
    changes = [_change("error", run.outcome.error / once.outcome.error - 1)]
    if run.outcome.bound and once.outcome.bound:
        changes.append(_change("bound", run.outcome.bound / once.outcome.bound - 1))
    text = ", ".join(filter(None, changes)) or ("same plan" if run.outcome == once.outcome else "same to 1e-4")
    took = f", CPU × {run.seconds / once.seconds:.1f}" if once.seconds >= _LEAST_SECONDS else ""
    return f"{_shown(value)}: {text}{took}"


def _change(name: str, change: float) -> str:
    return f"{name} {100 * change:+.2f} %" if abs(change) >= _LEAST_CHANGE else ""


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple) and len(value) <= 6 and all(isinstance(one, (int, float)) for one in value):
        return "(" + ", ".join(f"{one:.3g}" for one in value) + ")"
    if isinstance(value, int):
        return f"{value:,}"
    return "its table"
