"""A campaign of planted strings among rare ones: reports of the shipped randomizer, and the true shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.strings.device_plan import string_device, string_domain
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.search import StringDomain
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

PLANTED, RARE = 24, 4000
# Of the share that the plan finds with 90 %.
LEAST, MOST = 0.6, 1.25
_BATCH = 1 << 16


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantedStrings:
    """24 strings of .6 to 1.25 times the planned `share`, and 4,000 that have the rest alike.

    `texts`, their `codes` and their `shares` (4024,) have the planted ones first and rising.
    """

    plan: LevelPlan
    device: DevicePart
    strings: StringDomain
    share: float
    texts: tuple[str, ...]
    codes: tuple[int, ...]
    shares: Floats

    @classmethod
    def drawn(
        cls,
        epsilon: str,
        users: int,
        depth: int,
        beam: int,
        rng: np.random.Generator,
        levels: type[LevelPlan] = LevelPlan,
    ) -> PlantedStrings:
        """With a salt of its own."""
        plan = levels(depth, beam, 0.05)
        domain = string_domain("text", shipped_code("bytes").code, plan.ends, "nfc", rng.bytes(16))
        device = string_device(domain, plan, PureEpsilon.of(epsilon))
        assert isinstance(device.randomizer, Coarsened)
        strings = StringDomain(domain, device.randomizer)
        share = plan.found * (strings.chances.variance / users) ** 0.5
        planted = np.linspace(LEAST, MOST, PLANTED) * share
        # Of bytes that all have codes of eight bits.
        texts = [rng.integers(0x21, 0x7F, size=20, dtype=np.uint8).tobytes().decode() for _ in range(PLANTED + RARE)]
        return PlantedStrings(
            plan=plan,
            device=device,
            strings=strings,
            share=share,
            texts=tuple(texts),
            codes=tuple(map(strings.text.bits_of, texts)),
            shares=np.concatenate([planted, np.full(RARE, (1 - planted.sum()) / RARE)]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Planted(PlantedStrings):
    """Strings with reports of them; `holders` (n,) number the text of each device."""

    holders: NDArray[np.intp]
    reports: StringReports

    @classmethod
    def of(
        cls, epsilon: str, users: int, depth: int, beam: int, seed: int, levels: type[LevelPlan] = LevelPlan
    ) -> Self:
        """Drawn from a seed; other `levels` have the same strings and holders."""
        rng = np.random.default_rng(seed)
        given = PlantedStrings.drawn(epsilon, users, depth, beam, rng, levels)
        domain, randomizer = given.strings.domain, given.strings.randomizer
        held = np.array([domain.codes(text) for text in given.texts], dtype=np.uint64)
        holders = rng.choice(len(held), size=users, p=given.shares)
        pages = (
            randomize_part(given.device, held[holders[start : start + _BATCH]], SeededRandomness((seed << 20) + start))
            for start in range(0, users, _BATCH)
        )
        return cls(**vars(given), holders=holders, reports=StringReports.of(randomizer, pages))

    def true_shares(self) -> dict[int, float]:
        """The share of the reporters that holds each code; codes that nobody holds are left out."""
        counts = np.bincount(self.holders, minlength=len(self.codes)) / len(self.holders)
        shares: dict[int, float] = {}
        for code, share in zip(self.codes, counts.tolist(), strict=True):
            if share:
                shares[code] = shares.get(code, 0.0) + share
        return shares
