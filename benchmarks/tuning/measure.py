"""A case planned at half, once and twice the value of a constant: the error, the bound, and the processor time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.tuning.cases import CASES, Outcome
from benchmarks.tuning.tables import Constant, reads, scaled
from sordino_analysis.planning import planner

FACTORS = (0.5, 2.0)
# Bounds depend on these packages' constants; for the others each case proves its bounds once.
_OF_BOUNDS = ("optimisation", "bounds", "factorization", "planning")


@dataclass(frozen=True)
class Run:
    """One plan, or why there was none."""

    outcome: Outcome | None
    seconds: float
    refusal: str = ""


@dataclass(frozen=True)
class Comparison:
    """A constant in one case: the run at its value, and by factor the value and the run at it."""

    constant: str
    value: Any
    case: str
    once: Run
    moved: dict[float, tuple[Any, Run]]


class Bench:
    """Runs cases, each at the values as they are only once."""

    def __init__(self, most_cases: int = 2, cases: Mapping[str, Callable[[], Outcome]] = CASES) -> None:
        self.cases, self.most_cases = cases, most_cases
        self._bounds: dict[tuple[str, str], Any] = {}
        self._once: dict[tuple[str, bool], Run] = {}
        self.read: dict[str, set[tuple[int, str]]] = {}
        for name in self.cases:
            with reads() as read:
                self._once[name, False] = self._run(name, proved_once=False)
            self.read[name] = read

    def compared(self, constant: Constant) -> Iterator[Comparison]:
        """In the cheapest of the cases that read it."""
        proved_once = constant.table.split(".")[0] not in _OF_BOUNDS
        reading = [name for name, read in self.read.items() if (id(constant.owner), constant.field) in read]
        for name in sorted(reading, key=lambda name: self._once[name, False].seconds)[: self.most_cases]:
            yield self._compared(constant, name, proved_once)

    def _compared(self, constant: Constant, case: str, proved_once: bool) -> Comparison:
        once = self._at_once(case, proved_once)
        moved = {}
        for factor in FACTORS:
            value = scaled(constant.value, factor)
            with constant.set_to(value):
                moved[factor] = (value, self._run(case, proved_once))
        return Comparison(constant.name, constant.value, case, once, moved)

    def _at_once(self, case: str, proved_once: bool) -> Run:
        if (case, proved_once) not in self._once:
            self._run(case, proved_once)
            self._once[case, proved_once] = self._run(case, proved_once)
        return self._once[case, proved_once]

    def _run(self, case: str, proved_once: bool) -> Run:
        start = time.process_time()
        try:
            with self._proving(case) if proved_once else _as_it_is():
                outcome, refusal = self.cases[case](), ""
        except Exception as error:
            outcome, refusal = None, f"{type(error).__name__}: {error}".splitlines()[0]
        return Run(outcome, time.process_time() - start, refusal)

    @contextmanager
    def _proving(self, case: str) -> Iterator[None]:
        """Bounds of the case are proved only the first time: they do not depend on the constant."""
        proving = planner.lower_bound

        def once(work: Any, objective: Any, progress: Any) -> Any:
            if (case, objective) not in self._bounds:
                self._bounds[case, objective] = proving(work, objective, progress)
            return self._bounds[case, objective]

        planner.lower_bound = once
        try:
            yield
        finally:
            planner.lower_bound = proving


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
