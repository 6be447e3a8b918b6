"""A finished plan as it travels and is kept: its two parts and its figures, in bytes that check themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.mechanisms.request import PlanError
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import MalformedDocument, SordinoError
from sordino_shared.protocol import DevicePart, Digest

_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class FinishedPlan:
    """The parts of a plan and its figures as JSON text, whose "cut_short" says why it could be better, or null."""

    device: DevicePart
    analyst: AnalystPart
    figures: str

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart, summary: Mapping[str, Any]) -> Self:
        """The plan with this `summary`; raises ValueError for what is not JSON."""
        return cls(device, analyst, json.dumps(dict(summary), ensure_ascii=False, allow_nan=False))

    @property
    def summary(self) -> dict[str, Any]:
        """The summary; a new dict per call, so that changes to it do not change the plan."""
        return dict(json.loads(self.figures))

    @property
    def complete(self) -> bool:
        """Whether this is the plan of its request, whatever the machine; cut short it is one of many."""
        return self.summary["cut_short"] is None

    def users_needed(self, target: float) -> int:
        """The least number of reports for which every answer has a root mean squared error of at most `target`.

        For the objective "mean": the root of the mean over queries, weighted as the objective is. Raises PlanError
        where the bias alone is more.
        """
        # Weights are no part of an answer's own error.
        worst = self.analyst.objective == "max"
        variance = self.summary["largest_variance"] if worst else self.analyst.figures.mean_variance
        return users_needed(variance, self.analyst.figures.bias_bound, target)

    @property
    def content(self) -> bytes:
        """Digest of the rest, then figures, device part and analyst part, each behind its length."""
        parts = (self.figures.encode(), self.device.content, self.analyst.content)
        body = b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)
        return Digest.of(body) + body

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The plan whose `content` this is, its ε proved again; raises SordinoError where one byte is another."""
        if len(content) < Digest.LENGTH:
            raise MalformedDocument("a finished plan begins with a digest")
        Digest(content[: Digest.LENGTH]).check(content[Digest.LENGTH :])
        parts, start = [], Digest.LENGTH
        while start < len(content):
            length = int.from_bytes(content[start : start + _LENGTH_BYTES], "big")
            start += _LENGTH_BYTES
            parts.append(content[start : start + length])
            start += length
        figures, device_content, analyst_content = parts
        device, analyst = DevicePart.read(device_content), AnalystPart.read(analyst_content)
        if analyst.device_digest != device.digest:
            raise SordinoError("the analyst part belongs to another device part")
        check_guarantee(device)
        return cls(device, analyst, figures.decode())


def users_needed(variance: float, bias_bound: float, target: float) -> int:
    """The least n with variance/n + bias² ≤ target²; raises PlanError where the bias alone is more."""
    room = target**2 - bias_bound**2 if math.isfinite(target) and target > 0 else 0.0
    if not room > 0:
        raise PlanError(
            f"the target error must be a number above the bias bound {bias_bound:.3g}, got {target}", target
        )
    return max(1, math.ceil(variance / room))
