"""Plans as Markdown."""

from collections.abc import Sequence
from itertools import groupby

from benchmarks.accuracy.measure import Failure, Outcome, Plan

_SUMMARY_EPSILON = 1.0
_SHOWN = {
    "randomized_response": "randomised response",
    "subset_selection": "subset selection",
    "factorization": "the papers' factorization",
}


def tables(outcomes: Sequence[Outcome]) -> str:
    """One table a workload, with a line a plan and a column for each candidate that applies."""
    ordered = groupby(outcomes, key=lambda outcome: outcome.case.workload)
    return "\n\n".join(f"### {name}\n\n{_table(list(group))}" for name, group in ordered)


def summary(outcomes: Sequence[Outcome]) -> str:
    """The table of the first page: the worst query's variance at ε = 1."""
    head = ["question", *_SHOWN.values(), "sordino's choice", "certified lower bound", "ratio"]
    chosen = [
        [plan.case.workload, *(_number(plan.candidates.get(name)) for name in _SHOWN), *_choice(plan)]
        for plan in outcomes
        if isinstance(plan, Plan) and (plan.case.epsilon, plan.case.objective) == (_SUMMARY_EPSILON, "max")
    ]
    return markdown([head, *chosen])


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table whose first line is its head."""
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in ruled)


def _table(outcomes: Sequence[Outcome]) -> str:
    plans = [outcome for outcome in outcomes if isinstance(outcome, Plan)]
    names = list(dict.fromkeys(name for plan in plans for name in plan.candidates))
    tail = ["chosen", "lower bound", "ratio", "better ones", "device bytes", "analyst bytes", "seconds"]
    return markdown([["ε", "objective", *names, *tail], *(_line(outcome, names) for outcome in outcomes)])


def _line(outcome: Outcome, names: Sequence[str]) -> list[str]:
    start = [f"{outcome.case.epsilon:g}", outcome.case.objective]
    if isinstance(outcome, Failure):
        return [*start, *[""] * len(names), f"failed: {outcome.error}", *[""] * 6]
    variances = [_number(outcome.candidates.get(name)) for name in names]
    sizes = [f"{outcome.device_bytes:,}", f"{outcome.analyst_bytes:,}", f"{outcome.seconds:.1f}"]
    bound = _choice(outcome)[1:]
    return [*start, *variances, outcome.mechanism, *bound, ", ".join(outcome.below), *sizes]


def _choice(plan: Plan) -> list[str]:
    ratio = "" if plan.ratio is None else f"{plan.ratio:.3f}"
    return [_number(plan.variance), _number(plan.lower_bound), ratio]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
