"""A finished plan as it travels and is kept: its parts and its summary, in bytes that verify themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.plan_summary import AnySummary, PairwiseSummary, read_summary
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan, read_protocol_plan
from sordino_analysis.planning.rounds import RoundPlan
from sordino_analysis.planning_options import PlanError
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Hashed, Text
from sordino_shared.errors import MalformedDocument
from sordino_shared.protocol import DevicePart, Digest

# A length before each part.
_LENGTH_BYTES = 8
PartName = Literal["device", "analyst", "protocol"]


class Part(Protocol):
    """A document that is stored under its digest."""

    @property
    def content(self) -> bytes: ...

    @property
    def digest(self) -> Digest: ...


@dataclass(frozen=True, eq=False)
class FinishedPlan:
    """The plan of a round, or of several with the first one's parts and the `protocol` that leads to the others."""

    device: DevicePart
    analyst: AnalystPart
    summary: AnySummary
    protocol: AnyProtocolPlan | None = None

    def parts(self) -> Mapping[PartName, Part]:
        """What is stored of the plan, each part under its digest."""
        parts: dict[PartName, Part] = {"device": self.device, "analyst": self.analyst}
        return parts if self.protocol is None else parts | {"protocol": self.protocol}

    @property
    def complete(self) -> bool:
        """Whether this is the plan of its request: cut short it is one of many, and so it is with a salt of hashes.

        Only such a plan is kept to answer the same request again.
        """
        salted = any(isinstance(attribute, (Hashed, Text)) for attribute in self.device.domain.attributes)
        return self.summary.cut_short is None and not salted

    def for_target(self, error: float) -> Self:
        """The plan with `error` and the number of users that reaches it in its summary; raises PlanError."""
        stated = {"target_error": error, "users_needed": self.users_needed(error)}
        return replace(self, summary=self.summary.model_copy(update=stated))

    def users_needed(self, target: float) -> int:
        """The least number of reports for which every answer has a root mean squared error of at most `target`.

        For the objective "mean": the root of the mean over queries, weighted as the objective is. Raises PlanError
        where the bias alone is more.
        """
        variance = self.summary.answer_variance
        if variance is None:
            raise PlanError("a protocol is planned for a number of users, and does not say how many it needs", target)
        blanket = None if isinstance(self.summary, PairwiseSummary) else self.summary.blanket
        noise = 0.0 if blanket is None else blanket.reports * blanket.variance
        return users_needed(variance, self.analyst.figures.bias_bound, target, noise)

    @property
    def content(self) -> bytes:
        """Digest of the rest, then the summary and every part, each behind its length."""
        pieces = (self.summary.text().encode(), *(part.content for part in self.parts().values()))
        body = b"".join(len(piece).to_bytes(_LENGTH_BYTES, "big") + piece for piece in pieces)
        return Digest.of(body) + body

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The plan whose `content` this is, its ε proved again; raises SordinoError where one byte is another."""
        if len(content) < Digest.LENGTH:
            raise MalformedDocument("a finished plan begins with a digest")
        Digest(content[: Digest.LENGTH]).check(content[Digest.LENGTH :])
        summary, device_content, analyst_content, *rest = _pieces(content[Digest.LENGTH :])
        device, analyst = DevicePart.read(device_content), AnalystPart.read(analyst_content)
        RoundPlan(device, analyst)
        check_guarantee(device)
        return cls(device, analyst, read_summary(summary), read_protocol_plan(rest[0]) if rest else None)


def _pieces(body: bytes) -> list[bytes]:
    pieces, start = [], 0
    while start < len(body):
        length = int.from_bytes(body[start : start + _LENGTH_BYTES], "big")
        start += _LENGTH_BYTES
        pieces.append(body[start : start + length])
        start += length
    return pieces


def users_needed(variance: float, bias_bound: float, target: float, noise: float = 0.0) -> int:
    """The least n with variance/n + noise/n² + bias² ≤ target²; raises PlanError where the bias alone is more.

    `noise` is the variance of all random reports of a shuffler together.
    """
    room = target**2 - bias_bound**2 if math.isfinite(target) and target > 0 else 0.0
    if not room > 0:
        raise PlanError(
            f"the target error must be a number above the bias bound {bias_bound:.3g}, got {target}", target
        )
    return max(1, math.ceil((variance + math.sqrt(variance**2 + 4 * room * noise)) / (2 * room)))
