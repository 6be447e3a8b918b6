"""Repeated runs of a protocol on one population: every report's exact law, errors against the users' own statistic."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.pairwise_cases import Case
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.pairwise.protocol import ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS, find_protocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import FiniteKernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_BATCH = 1 << 14


@dataclass(frozen=True)
class Measured:
    """What one protocol reached on one case, over `runs` runs.

    `planned` is the mean error over the reference histograms, by which a protocol is chosen, `predicted` that at the
    true histogram, `standard_error` the mean of those stated, `coverage` that of 95 % intervals. None where a method
    states nothing of the kind.
    """

    case: str
    protocol: str
    epsilon: float
    users: int
    runs: int
    planned: float | None
    predicted: float | None
    achieved: float
    bias: float
    standard_error: float | None
    coverage: float | None
    target: float | None
    seconds: float


def designed(
    case: Case, epsilon: float, users: int, effort: str, names: Sequence[str] | None
) -> Iterator[ProtocolDesign]:
    """The design of every protocol, or of those asked, that applies to the statistic."""
    request = ProtocolRequest(case.statistic, PlanningOptions.of(epsilon=epsilon, users=users, effort=Effort(effort)))
    for protocol in PROTOCOLS:
        if (names is None or protocol.name in names) and protocol.reason_against(request) is None:
            yield protocol.design(request, lambda fraction: None)


def reports_vectors(design: ProtocolDesign) -> bool:
    """Whether its reports have to be made one by one."""
    return not isinstance(design.first.device.randomizer, FiniteKernel)


def measure(case: Case, design: ProtocolDesign, runs: int, seed: int) -> Measured:
    """Errors and coverage over `runs` runs on one fixed population of the plan's number of users."""
    plan, start = design.plan, time.perf_counter()
    counts = population(case, plan.users)
    truth = case.statistic.of_pairs(counts.astype(float))
    estimates = list(estimated(design, counts, runs, seed))
    errors = np.array([estimate.value - truth for estimate in estimates])
    return Measured(
        case=case.name,
        protocol=plan.protocol,
        epsilon=plan.guarantee / 1e9,
        users=plan.users,
        runs=runs,
        planned=plan.predicted_rmse,
        predicted=find_protocol(plan.protocol).predict(design, counts / plan.users),
        achieved=float(np.sqrt(np.mean(errors**2))),
        bias=float(errors.mean()),
        standard_error=float(np.mean([estimate.standard_error for estimate in estimates])),
        coverage=float(np.mean([estimate.lower <= truth <= estimate.upper for estimate in estimates])),
        target=case.target,
        seconds=time.perf_counter() - start,
    )


def population(case: Case, users: int) -> Integers:
    """(k,) how many users hold each type: one draw from the case's histogram, the same for every protocol."""
    return np.random.default_rng(users).multinomial(users, case.histogram)


def estimated(design: ProtocolDesign, counts: Integers, runs: int, seed: int) -> Iterator[PairwiseEstimate]:
    """The estimate of each run."""
    protocol = find_protocol(design.plan.protocol)
    for run in range(runs):
        generator = np.random.default_rng([seed, run])
        present = _assigned(design, counts, generator)
        closed: tuple[ClosedRound, ...] = ()
        following: RoundPlan | PairwiseEstimate = design.first
        while isinstance(following, RoundPlan):
            aggregate = answered(following, present[len(closed)], generator)
            closed = (*closed, ClosedRound(following, aggregate))
            following = protocol.step(design.plan, closed)
        yield following


def _assigned(design: ProtocolDesign, counts: Integers, generator: np.random.Generator) -> list[Integers]:
    """Who answers each round."""
    if design.plan.first_weight is None:
        return [counts] * len(design.plan.rounds)
    first = generator.binomial(counts, design.plan.first_weight / 2**32)
    return [first, counts - first]


def answered(plan: RoundPlan, counts: Integers, generator: np.random.Generator) -> Aggregate:
    """The aggregate of these users' reports."""
    randomizer, users = plan.device.randomizer, int(counts.sum())
    if isinstance(randomizer, FiniteKernel):
        return Aggregate(users, _output_counts(randomizer, counts, generator))
    cells = np.repeat(np.arange(len(counts)), counts)
    randomness = SeededRandomness(int(generator.integers(2**63)))
    sums = np.zeros(randomizer.accumulator_size, dtype=np.int64)
    for start in range(0, users, _BATCH):
        sums += accumulate(randomizer, randomize_many(randomizer, cells[start : start + _BATCH], randomness))
    return Aggregate(users, sums)


def _output_counts(kernel: FiniteKernel, counts: Integers, generator: np.random.Generator) -> Integers:
    """Σ over types of multinomial counts, one uniform draw a user."""
    steps = np.cumsum(kernel_table(kernel) / 2.0**kernel.bits, axis=0)
    found = np.zeros(kernel.outputs, dtype=np.int64)
    for cell in np.flatnonzero(counts):
        drawn = np.searchsorted(steps[:-1, cell], generator.random(counts[cell]), side="right")
        found += np.bincount(drawn, minlength=kernel.outputs)
    return found


def measure_subset_selection(case: Case, epsilon: float, users: int, runs: int, seed: int) -> Measured:
    """The plug-in: subset selection at its best size for histograms, and the U-statistic of its unbiased reports."""
    start, counts = time.perf_counter(), population(case, users)
    truth = case.statistic.of_pairs(counts.astype(float))
    size = len(counts)
    held = max(1, round(size / (np.exp(epsilon) + 1)))
    errors = []
    for run in range(runs):
        values = _subset_values(case, counts, held, epsilon, np.random.default_rng([seed, run]))
        errors.append(case.statistic.combine(values) - truth)
    found = np.array(errors)
    return Measured(
        case=case.name,
        protocol="subset_selection",
        epsilon=epsilon,
        users=users,
        runs=runs,
        planned=None,
        predicted=None,
        achieved=float(np.sqrt(np.mean(found**2))),
        bias=float(found.mean()),
        standard_error=None,
        coverage=None,
        target=case.target,
        seconds=time.perf_counter() - start,
    )


def _subset_values(
    case: Case, counts: Integers, subset_size: int, epsilon: float, generator: np.random.Generator
) -> Floats:
    """[SᵀWS − Σ_i g_iᵀWg_i]/(n(n − 1)) of every form for g = (1_S − P(x' ∈ S))/(P(x ∈ S) − P(x' ∈ S))."""
    size, users = len(counts), int(counts.sum())
    include = np.exp(epsilon) * subset_size / (np.exp(epsilon) * subset_size + size - subset_size)
    other = (include * (subset_size - 1) + (1 - include) * subset_size) / (size - 1)
    total, own = np.zeros(size), np.zeros(len(case.statistic.forms))
    cells = np.repeat(np.arange(size), counts)
    for start in range(0, users, _BATCH):
        bits = _subsets(cells[start : start + _BATCH], size, subset_size, include, generator)
        decoded = (bits - other) / (include - other)
        total += decoded.sum(axis=0)
        own += [np.einsum("nx,nx->", decoded @ form.matrix, decoded) for form in case.statistic.forms]
    whole = np.array([total @ form.matrix @ total for form in case.statistic.forms])
    return np.asarray((whole - own) / (users * (users - 1)))


def _subsets(
    cells: Integers, size: int, subset_size: int, include: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """(n, k) indicators of random subsets that hold the user's cell with chance `include`."""
    keys = generator.random((len(cells), size), dtype=np.float32)
    inside = generator.random(len(cells)) < include
    keys[np.arange(len(cells)), cells] = np.where(inside, -1.0, 2.0)
    chosen = np.argpartition(keys, subset_size - 1, axis=1)[:, :subset_size]
    bits = np.zeros((len(cells), size))
    np.put_along_axis(bits, chosen, 1.0, axis=1)
    return bits


def as_json(rows: Sequence[Measured]) -> list[dict[str, Any]]:
    """As JSON."""
    return [asdict(row) for row in rows]


def table(rows: Sequence[Measured]) -> str:
    """One line a statistic and protocol, as Markdown; the chosen protocol of each statistic is marked."""
    head = ["statistic", "ε", "protocol", "planned", "predicted", "achieved", "runs", "stated", "coverage", "target"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        rivals = [r.planned for r in rows if (r.case, r.epsilon) == (row.case, row.epsilon) and r.planned is not None]
        mark = " (chosen)" if row.planned is not None and row.planned == min(rivals) else ""
        numbers = [_short(row.planned), _short(row.predicted), _short(row.achieved), str(row.runs)]
        stated = [_short(row.standard_error), "" if row.coverage is None else f"{row.coverage:.1%}", _short(row.target)]
        lines.append([row.case, f"{row.epsilon:g}", row.protocol + mark, *numbers, *stated])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"
