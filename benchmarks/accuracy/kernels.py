"""`python -m benchmarks.accuracy.kernels FILE`: the kernels that are found for prefix sums, drawn bit by bit."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.charts.svg import document, number, text
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_integers
from sordino_shared.randomizers import FiniteKernel, TwoLevelRows

_LEFT, _TOP, _GAP, _HEIGHT, _SET_WIDTH = 30, 84, 40, 560, 256
# What is sent too seldom to be seen.
_THINNEST = 0.05
_MECHANISM = "optimised_kernel"


def main() -> None:
    """Plan for every ε, and write one panel for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.kernels", description=__doc__)
    parser.add_argument("file", type=Path, help="the SVG to write")
    parser.add_argument("--bins", type=int, default=32, help="size of the domain")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 4.0], help="one panel for each")
    parser.add_argument("--objective", choices=["max", "mean"], default="mean", help="what the kernel is good for")
    options = parser.parse_args()
    kernels = [_rows(options.bins, epsilon, options.objective) for epsilon in options.epsilon]
    options.file.write_text(draw(options.epsilon, kernels, options.bins), encoding="utf-8")


def _rows(bins: int, epsilon: float, objective: Objective) -> TwoLevelRows:
    request = PlanRequest(
        builtin("prefix", bins), PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism=_MECHANISM)
    )
    randomizer = compile_plan(request).device.randomizer
    assert isinstance(randomizer, FiniteKernel)
    assert isinstance(randomizer.rows, TwoLevelRows)
    return randomizer.rows


def draw(epsilons: Sequence[float], kernels: Sequence[TwoLevelRows], bins: int) -> str:
    """The text of an SVG file, a panel for each ε."""
    title = f"Reports of the kernel for prefix sums over {bins} bins"
    about = "A band is one report, as high as it is frequent: dark where a bin makes it e^ε times likelier."
    parts = [
        "<style>.set { fill: #2563eb; } .paper { fill: #eef1f6; }</style>",
        text((_LEFT, 34), title, kind="title"),
        text((_LEFT, 56), about),
    ]
    width = _SET_WIDTH + _GAP
    for place, (epsilon, rows) in enumerate(zip(epsilons, kernels, strict=True)):
        parts += _panel(_LEFT + place * width, epsilon, rows)
    return document(_LEFT + len(kernels) * width, _TOP + _HEIGHT + 40, title, about, parts)


def _panel(left: float, epsilon: float, rows: TwoLevelRows) -> Iterator[str]:
    members = np.unpackbits(ndarray(rows.members), axis=1, bitorder="little")[:, : rows.types].astype(bool)
    order, cell = _sorted(members), _SET_WIDTH / rows.types
    # The chance of a report where types are spread evenly.
    chances = kernel_integers(rows).astype(float).mean(axis=1)[order]
    heights = _HEIGHT * chances / chances.sum()
    tops = _TOP + np.cumsum(heights) - heights
    runs = (
        f"M{number(left + start * cell)} {top:.2f}h{number((end - start) * cell)}v{height:.2f}"
        f"h-{number((end - start) * cell)}z"
        for row, top, height in zip(order, tops, heights, strict=True)
        for start, end in _runs(members[row])
        if height > _THINNEST
    )
    yield text((left, _TOP - 8), f"ε = {epsilon:g}, {len(members)} reports")
    yield f'<rect class="paper" x="{left}" y="{_TOP}" width="{_SET_WIDTH}" height="{_HEIGHT}"/>'
    yield f'<path class="set" d="{"".join(runs)}"/>'
    yield text((left, _TOP + _HEIGHT + 18), "first bin")
    yield text((left + _SET_WIDTH, _TOP + _HEIGHT + 18), "last bin", "end")


def _sorted(members: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Rows by where the middle of their set lies."""
    centres = (members @ np.arange(members.shape[1])) / np.maximum(members.sum(axis=1), 1)
    return np.lexsort((members.sum(axis=1), centres))


def _runs(row: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of every stretch of neighbours in the set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


if __name__ == "__main__":
    main()
