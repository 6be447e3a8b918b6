"""A campaign of planted strings among rare ones: reports of the shipped randomizer, and the true shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.strings.device_plan import string_device, string_domain
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.search import StringDomain
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened

PLANTED, RARE = 24, 4000
_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class Planted:
    """24 strings of .6 to 1.25 times the planned `share`, and 4,000 that have the rest alike.

    `codes` (4024,) are those of the strings, the planted ones first and rising; `holders` (n,) name them.
    """

    plan: LevelPlan
    strings: StringDomain
    share: float
    codes: tuple[int, ...]
    holders: NDArray[np.intp]
    reports: StringReports

    @classmethod
    def of(
        cls, epsilon: str, users: int, depth: int, beam: int, seed: int, levels: type[LevelPlan] = LevelPlan
    ) -> Self:
        """Drawn from a seed, with a salt of its own; other `levels` have the same strings and holders."""
        plan, rng = levels(depth, beam, 0.05), np.random.default_rng(seed)
        domain = string_domain("text", shipped_code("bytes").code, plan.ends, "nfc", rng.bytes(16))
        device = string_device(domain, plan, PureEpsilon.of(epsilon))
        assert isinstance(device.randomizer, Coarsened)
        strings = StringDomain(domain, device.randomizer)
        share = plan.found * (strings.chances.variance / users) ** 0.5
        planted = np.linspace(0.6, 1.25, PLANTED) * share
        shares = np.concatenate([planted, np.full(RARE, (1 - planted.sum()) / RARE)])
        # Of bytes that all have codes of eight bits.
        texts = [rng.integers(0x21, 0x7F, size=20, dtype=np.uint8).tobytes().decode() for _ in shares]
        held = np.array([domain.codes(text) for text in texts], dtype=np.uint64)
        holders = rng.choice(len(shares), size=users, p=shares)
        pages = (
            randomize_part(device, held[holders[start : start + _BATCH]], SeededRandomness((seed << 20) + start))
            for start in range(0, users, _BATCH)
        )
        reports = StringReports.of(device.randomizer, pages)
        return cls(plan, strings, share, tuple(map(strings.text.bits_of, texts)), holders, reports)

    def true_shares(self) -> dict[int, float]:
        """The share of the reporters that holds each code; codes that nobody holds are left out."""
        counts = np.bincount(self.holders, minlength=len(self.codes)) / len(self.holders)
        shares: dict[int, float] = {}
        for code, share in zip(self.codes, counts.tolist(), strict=True):
            if share:
                shares[code] = shares.get(code, 0.0) + share
        return shares
