"""A question for common strings and the options of its plan."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sordino_analysis.documents.analyst_part import AnalystPart, ErrorFigures
from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.documents.certificate import Certificate, LowerBound
from sordino_analysis.documents.string_queries import StringsDecoder
from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.documents.summary_parts import BlanketSummary, PartDigests
from sordino_analysis.guarantees.blanket import least_blanket, loss_law
from sordino_analysis.percentages import percent
from sordino_analysis.planning.blanket_claims import blanket_terms
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import Interrupted, never, request_digest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.question import question_digest
from sordino_analysis.strings.chances import StringChances, least_variance
from sordino_analysis.strings.device_plan import string_device
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.specification import StringsSpecification
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.audit import check_guarantee, verification_memory
from sordino_shared.domains.hashed import SALT_BYTES
from sordino_shared.guarantees import NANO, check_round_guarantee
from sordino_shared.protocol import DevicePart, Digest
from sordino_shared.protocol.routes import MAX_BLANKET
from sordino_shared.randomness import SystemRandomness

MECHANISM = "prefix_levels"
# Fewer reports certify nothing at any error that is allowed.
_LEAST_CERTIFYING = 30
# A string of half of the devices needs no search.
_MOST_FOUND = 0.5


@dataclass(frozen=True, eq=False)
class StringsRequest:
    """The levels that find the rarest strings with so many devices, for the text that `specification` describes."""

    unused: ClassVar = ("mechanism", "reduction", "objective", "robust", "protocol", "target", "effort", "target_error")
    specification: StringsSpecification
    options: PlanningOptions

    def __post_init__(self) -> None:
        self.check(self.options, queries=1)
        if self.options.users is not None:
            check_users(self.levels, self.options)

    @classmethod
    def of(cls, specification: StringsSpecification, options: PlanningOptions) -> Self:
        """For the text that is written down."""
        return cls(specification, options)

    @classmethod
    def check(cls, options: PlanningOptions, queries: int) -> None:
        """Raise InvalidValue where no plan is made with these options; the list of strings is one query."""
        check_round_guarantee(options.guarantee)
        options.refuse(
            ("mechanism", "reduction", "robust", "protocol", "target"),
            "mechanism, reduction, robust, protocol and target are of other questions; strings have one plan",
        )
        options.refuse(
            ("target_error",), "target_error is of answers that are listed before: state users, or a share of `size`"
        )
        options.check_claim()

    @property
    def levels(self) -> LevelPlan:
        """Widths and chances."""
        return self.specification.levels()

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, but for the salt."""
        return request_digest(question_digest(self.specification), self.options, self.unused)

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        """The plan with a fresh salt, which is public."""
        start = time.perf_counter()
        domain = self.specification.held_domain(SystemRandomness().bytes(SALT_BYTES))
        device = string_device(domain, self.levels, self.options.guarantee)
        progress(Progress(0.5, "proving ε"))
        check_guarantee(device)
        analyst = self._analyst_part(device, self._blanket(device))
        progress(Progress(1.0))
        return FinishedPlan(device, analyst, self._summary(device, analyst, time.perf_counter() - start))

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""
        return replace(self, options=self.options.with_time_limit(seconds))

    def _blanket(self, device: DevicePart) -> BlanketTerms | None:
        """The fewest random reports that hide one as the collector's bound asks, of the law of two texts.

        Two texts whose pieces all differ are hidden least: labels of one level are independent, so that the envelope
        over pairs is met. Raises PlanError where a shuffler does not add so many.
        """
        collector = self.options.collector
        if collector is None:
            return None
        law = loss_law(device.randomizer, math.exp(collector.bound.nano_epsilon / NANO))
        reports = least_blanket(law, collector.bound.delta)
        if reports > MAX_BLANKET:
            raise PlanError(
                f"it takes {reports:,} random reports, and a shuffler adds at most {MAX_BLANKET:,}: allow a larger ε "
                "against the collector, or a smaller one of a device",
                reports,
            )
        return blanket_terms(device, reports, collector.bound)

    def _analyst_part(self, device: DevicePart, blanket: BlanketTerms | None) -> AnalystPart:
        decoder = strings_decoder(device, self.levels)
        # No bound above 0 is proved.
        nothing = array_of(np.zeros(1), "<f8")
        bound = LowerBound(0.0, nothing, nothing)
        return AnalystPart(
            device_digest=device.digest,
            workload=self.specification.name,
            queries=self.specification.asked(),
            mechanism=MECHANISM,
            objective=self.options.objective,
            seed=self.options.seed,
            decoder=decoder,
            factors=None,
            certificate=Certificate(bound, bound),
            figures=strings_figures(device, decoder),
            blanket=blanket,
        )

    def _summary(self, device: DevicePart, analyst: AnalystPart, seconds: float) -> StringsSummary:
        decoder = analyst.decoder
        assert isinstance(decoder, StringsDecoder), "written above"
        users, collector, random = self.options.users, self.options.collector, analyst.blanket
        variance = decoder.variance / decoder.held_out
        summary = StringsSummary(
            workload=self.specification.name,
            attribute=self.specification.text.name,
            depth=self.levels.depth,
            widths=self.levels.widths,
            beam=self.levels.beam,
            error=self.levels.error,
            epsilon=device.guarantee.epsilon,
            mechanism=MECHANISM,
            label_bits=StringChances.of(device.randomizer).label_bits,
            report_variance=decoder.variance,
            held_out=decoder.held_out,
            found_units=decoder.found,
            report_bytes=device.randomizer.payload_bytes,
            users=users,
            watched=self.levels.watched,
            found_watched_units=self.levels.found_watched,
            least_share=self.specification.least_share,
            blanket=None if random is None else BlanketSummary.of(random, variance),
            direct_variance=None if collector is None else least_variance(collector.bound.nano_epsilon / NANO),
            device_bytes=len(device.content),
            device_memory=verification_memory(device),
            analyst_bytes=len(analyst.content),
            digests=PartDigests(device=str(device.digest), analyst=str(analyst.digest)),
            seconds=round(seconds, 3),
        )
        return summary if users is None else summary.model_copy(update={"found": summary.share_found(users)})


def strings_decoder(device: DevicePart, levels: LevelPlan) -> StringsDecoder:
    """V and p_W by the shipped integers, and the shares that are found and sought."""
    return StringsDecoder(
        variance=StringChances.of(device.randomizer).variance,
        held_out=levels.chances[0] / sum(levels.chances),
        found=levels.found,
        sought=levels.sought,
    )


def strings_figures(device: DevicePart, decoder: StringsDecoder) -> ErrorFigures:
    """n times the variance of a share from the held-out level: of the share that varies most, and of none.

    r(1 − r)/((p − q)² p_W) at r = q + f(p − q), which is largest at r = ½ or at the end that is nearer to it.
    """
    chances = StringChances.of(device.randomizer)
    own, other = float(chances.own), float(chances.other)
    nearest = min(max(0.5, other), own)
    spread = (own - other) ** 2 * decoder.held_out
    return ErrorFigures(nearest * (1 - nearest) / spread, other * (1 - other) / spread, 0.0)


def check_users(levels: LevelPlan, options: PlanningOptions) -> None:
    """Raise PlanError where so many users certify nothing, or find nothing below half of the devices."""
    epsilon, users = options.guarantee.epsilon, options.users
    assert users is not None, "asked for"
    if users * levels.held_out < _LEAST_CERTIFYING:
        needed = math.ceil(_LEAST_CERTIFYING / levels.held_out)
        raise PlanError(
            f"{users:,} users certify nothing: {percent(levels.held_out, 0)} of them answer the level that does, and "
            f"it takes {_LEAST_CERTIFYING} reports; expect {needed:,} users or more",
            users,
        )
    variance = least_variance(epsilon)
    found = levels.found * math.sqrt(variance / users)
    if found > _MOST_FOUND:
        needed = math.ceil(variance * (levels.found / _MOST_FOUND) ** 2)
        raise PlanError(
            f"with {users:,} users and ε = {epsilon:g} only strings of more than half of the devices are found: expect "
            f"{needed:,} users or more, take a larger ε, or list what may be held",
            users,
        )
