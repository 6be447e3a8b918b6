"""One request measured in a process of its own: variances, processor time, bytes, memory."""

import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.large.rows import Row
from benchmarks.references.ranges import RangeEstimator
from sordino_analysis.documents.decoders import GridDecoder, ScaledHistogramDecoder
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.item_counts import count_items, counts_of_all
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Ordered
from sordino_shared.randomizers import Coarsened

_MEBI = 1 << 20
_DRAWN_AT_ONCE = 100_000
# Reports of a bit a type are drawn in a smaller number.
_MOST_DRAWN_BYTES = 1 << 28


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Times are processor seconds; memory is the most that the process held, interpreter and libraries included.

    `decode_seconds` is from reports to answers, `answer_seconds` of one more question: the exact variance of a range,
    or the count of an item among the reports.
    """

    name: str
    epsilon: float
    objective: str
    mechanism: str
    mean_variance: float
    max_variance: float
    bound_mean: float
    bound_max: float
    target_mean: float | None
    target_max: float | None
    plan_seconds: float
    plan_wall_seconds: float
    plan_mebibytes: float
    device_bytes: int
    report_bytes: int
    reports: int | None
    device_seconds: float | None
    decode_seconds: float | None
    answer_seconds: float | None
    mebibytes: float | None
    cut_short: str | None
    peers: dict[str, float]

    @property
    def missed(self) -> tuple[str, ...]:
        """The variances that are above their targets."""
        wanted = {"mean": (self.mean_variance, self.target_mean), "max": (self.max_variance, self.target_max)}
        return tuple(name for name, (value, target) in wanted.items() if target is not None and value > target)


def measured(rows: list[Row], reports: int, time_limit: float | None) -> Iterator[Measured]:
    """Each row in a fresh process, so that memory is its own."""
    for row in rows:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield pool.submit(measure, row, reports, time_limit).result()


def measure(row: Row, reports: int, time_limit: float | None) -> Measured:
    """Plan the request, draw reports of evenly spread users, and decode them."""
    workload = parse_specification(row.specification).build()
    options = PlanningOptions.of(epsilon=row.epsilon, objective=row.objective, time_limit=time_limit)
    wall = time.perf_counter()
    planned, plan = _timed(lambda: compile_plan(PlanRequest(workload, options)))
    wall, plan_memory = time.perf_counter() - wall, _peak()
    summary, width = plan.summary, plan.device.randomizer.payload_bytes
    drawn = _Decoded(plan) if reports else None
    reports = min(reports, max(1, _MOST_DRAWN_BYTES // width))
    if drawn is not None:
        drawn.run(reports)
    return Measured(
        name=row.name,
        epsilon=row.epsilon,
        objective=row.objective,
        mechanism=summary.mechanism,
        mean_variance=summary.mean_variance,
        max_variance=summary.max_variance,
        bound_mean=summary.lower_bound_mean,
        bound_max=summary.lower_bound_max,
        target_mean=row.target_mean,
        target_max=row.target_max,
        plan_seconds=planned,
        plan_wall_seconds=wall,
        plan_mebibytes=plan_memory,
        device_bytes=summary.device_bytes,
        report_bytes=width,
        reports=None if drawn is None else reports,
        device_seconds=None if drawn is None else drawn.drawing,
        decode_seconds=None if drawn is None else drawn.decoding,
        answer_seconds=None if drawn is None else drawn.answering,
        mebibytes=None if drawn is None else _peak(),
        cut_short=summary.cut_short,
        peers=row.peers,
    )


class _Decoded:
    """The processor seconds of drawing, decoding, and answering one more question."""

    def __init__(self, plan: CompiledPlan) -> None:
        self.plan, self.randomizer = plan, plan.device.randomizer
        self.drawing = self.decoding = 0.0
        self.answering: float | None = None

    def run(self, reports: int) -> None:
        payloads = self._drawn(reports)
        decoder = self.plan.analyst.decoder
        if isinstance(self.randomizer, Coarsened) and isinstance(decoder, ScaledHistogramDecoder):
            self._items(self.randomizer, payloads)
            return
        adding, sums = _timed(lambda: accumulate(self.randomizer, payloads))
        aggregate = Aggregate(len(payloads), sums)
        if isinstance(decoder, GridDecoder) and self.plan.request.workload.operator.intervals is not None:
            estimator = RangeEstimator(self.plan.device, self.plan.analyst, aggregate)
            solving, _ = _timed(lambda: estimator.histogram)
            third = max(1, estimator.bins // 3)
            self.answering, _ = _timed(lambda: estimator.ranges([(third, 2 * third)]))
        else:
            linear = LinearEstimator.of(self.plan.device, self.plan.analyst)
            solving, _ = _timed(lambda: linear.unbiased(aggregate))
            if isinstance(decoder, GridDecoder):
                self._rectangle(aggregate)
        self.decoding = adding + solving

    def _rectangle(self, aggregate: Aggregate) -> None:
        """The middle third of each ordered attribute in a category; what answers has answered once before."""
        device, analyst = self.plan.device, self.plan.analyst
        answerer, sides = answerer_of(device, analyst, aggregate), []
        for attribute in device.domain.attributes:
            third = attribute.size // 3
            side = f"{third}..{2 * third}" if isinstance(attribute, Ordered) else attribute.label(third)
            sides.append(f"{attribute.name}:{side}")
        texts = [",".join(sides)]
        answer(answerer, device.domain, "rectangle", texts)
        self.answering, _ = _timed(lambda: answer(answerer, device.domain, "rectangle", texts))

    def _items(self, randomizer: Coarsened, payloads: Any) -> None:
        item = np.zeros((1, len(self.plan.device.domain.attributes)), dtype=np.uint64)
        self.answering, _ = _timed(lambda: count_items(randomizer, payloads, item))
        if randomizer.table_sizes[0]:
            adding, sums = _timed(lambda: accumulate(randomizer, payloads))
            solving, _ = _timed(lambda: counts_of_all(randomizer, sums))
            self.decoding = adding + solving
        else:
            self.decoding = self.answering

    def _drawn(self, reports: int) -> Any:
        shape, generator, payloads = self.plan.device.domain.shape, np.random.default_rng(1), []
        for start in range(0, reports, _DRAWN_AT_ONCE):
            count = min(_DRAWN_AT_ONCE, reports - start)
            columns = [generator.integers(0, size, count, dtype=np.uint64) for size in shape]
            codes = np.stack(columns, axis=1)
            seconds, drawn = _timed(
                lambda codes=codes, start=start: randomize_codes(self.randomizer, codes, shape, SeededRandomness(start))
            )
            self.drawing += seconds
            payloads.append(drawn)
        return np.concatenate(payloads)


def as_json(row: Measured) -> dict[str, Any]:
    """The row as a plain dictionary."""
    return {**asdict(row), "missed": list(row.missed)}


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MEBI
