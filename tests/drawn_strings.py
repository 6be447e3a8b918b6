"""Campaigns of strings without a server: reports of the shipped randomizer, and what is found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.strings.device_plan import string_device, string_domain
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.strings.search import FoundStrings, StringDomain, find_strings
from sordino_analysis.strings.specification import parse_strings
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart


@dataclass(frozen=True)
class DrawnStrings:
    """A plan of strings and what it finds; `salt` is drawn from the seed of a campaign's plan."""

    epsilon: str = "4"
    depth: int = 24
    beam: int = 100
    code: str = "words"
    error: float = 0.05
    salt: bytes = bytes(16)

    @cached_property
    def levels(self) -> LevelPlan:
        return LevelPlan(self.depth, self.beam, self.error)

    @cached_property
    def device(self) -> DevicePart:
        domain = string_domain("word", shipped_code(self.code).code, self.levels.ends, "nfc", self.salt)
        return string_device(domain, self.levels, PureEpsilon.of(self.epsilon))

    @cached_property
    def plan(self) -> FinishedPlan:
        """A plan of these terms with a salt of its own."""
        text = {"name": "word", "kind": "text", "code": self.code, "depth": self.depth}
        queries = {"kind": "strings", "beam": self.beam, "error": self.error}
        question = parse_strings({"name": "words", "domain": [text], "queries": queries})
        return StringsRequest.of(question, PlanningOptions(epsilon=self.epsilon)).compile()

    @cached_property
    def strings(self) -> StringDomain:
        return StringDomain(self.device.domain, self.device.randomizer)  # type: ignore[arg-type]

    def unit(self, users: int) -> float:
        """√(V/n)."""
        return float((self.strings.chances.variance / users) ** 0.5)

    def reports(self, texts: Sequence[str | None], holders: np.ndarray, seed: int) -> StringReports:
        """Of devices that hold `texts[holders]`."""
        codes = np.array([self.device.domain.codes(text) for text in texts], dtype=np.uint64)
        payloads = randomize_part(self.device, codes[holders], SeededRandomness(seed))
        return StringReports.of(self.strings.randomizer, [payloads])

    def find(self, reports: StringReports) -> FoundStrings:
        return find_strings(self.strings, reports, self.beam, self.error, self.levels.sought)


def listed(found: FoundStrings) -> list[str]:
    """The certified strings."""
    return [text.shown for text, sure in zip(found.texts, found.certified.certified, strict=True) if sure]
