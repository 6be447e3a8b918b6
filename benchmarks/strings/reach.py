"""`python -m benchmarks.strings.reach`: the share that is listed with 90 %, over campaigns of 24 planted strings.

By `reports` of the shipped randomizer, or by `counts`: of every string and every child that is looked at an exact
binomial count, independent of all others, as counts of two strings are in reports. The second way takes as long for
every ε. The share is where a normal curve that is fitted to what was listed has 90 %; its error is that of drawing
other campaigns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from benchmarks.strings.planted import LEAST, MOST, PLANTED, Planted, PlantedStrings
from sordino_analysis.arrays import Floats
from sordino_analysis.strings.beam import Paths, PathSearch
from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.level_counts import Integers, LevelRows
from sordino_analysis.strings.search import find_strings
from sordino_shared.domains import TextPrefix

# The way, ε, devices, bits of code, beam.
CELLS = (
    *(("counts", epsilon, 1_000_000, 48, 1000) for epsilon in ("1", "2", "4", "6")),
    ("counts", "2", 1_000_000, 96, 1000),
    ("reports", "1", 1_000_000, 48, 1000),
    ("reports", "4", 200_000, 48, 300),
    ("reports", "2", 1_000_000, 48, 1000),
    ("reports", "2", 1_000_000, 96, 1000),
    ("reports", "4", 1_000_000, 48, 1000),
    ("reports", "6", 1_000_000, 48, 300),
)
_BLOCK = 64
_RESAMPLED = 200
_POWER = 0.9


@dataclass(frozen=True)
class Outcome:
    """(24,) whether each planted string was listed, and whether the list has a string that nobody holds."""

    listed: NDArray[np.bool_]
    wrong: bool

    @classmethod
    def of(cls, given: PlantedStrings, codes: Sequence[int], certified: NDArray[np.bool_]) -> Outcome:
        """From the candidates."""
        listed = {code for code, sure in zip(codes, certified.tolist(), strict=True) if sure}
        return cls(np.array([code in listed for code in given.codes[:PLANTED]]), not listed.issubset(set(given.codes)))


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedSearch(PathSearch):
    """A search among counts that are drawn, of `shares` of whole codes."""

    shares: Mapping[int, float]
    rng: np.random.Generator

    def counts_of_children(
        self, paths: Paths, prefix: TextPrefix, reports: LevelRows
    ) -> Iterator[tuple[slice, Integers]]:
        """Bin(n, q + f(p − q)) of every child."""
        piece, left = prefix.last - prefix.first, self.text.depth - prefix.last
        own, other = float(self.chances.own), float(self.chances.other)
        held: dict[int, float] = {}
        for code, share in self.shares.items():
            held[code >> left] = held.get(code >> left, 0.0) + share
        parents = {code: at for at, code in enumerate(paths.codes)}
        for start in range(0, len(paths.codes), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(paths.codes)))
            counts = self.rng.binomial(len(reports), other, (1 << piece, block.stop - start)).astype(np.int32)
            for code, share in held.items():
                at = parents.get(code >> piece, -1) - start
                if 0 <= at < _BLOCK:
                    chance = other + share * (own - other)
                    counts[code & ((1 << piece) - 1), at] = self.rng.binomial(len(reports), chance)
            yield block, counts


def by_counts(epsilon: str, users: int, depth: int, beam: int, seed: int) -> Outcome:
    """A campaign without reports."""
    rng = np.random.default_rng(seed)
    given = PlantedStrings.drawn(epsilon, users, depth, beam, rng)
    strings, plan, chances = given.strings, given.plan, given.strings.chances
    shares: dict[int, float] = {}
    for code, share in zip(given.codes, given.shares.tolist(), strict=True):
        shares[code] = shares.get(code, 0.0) + share
    search = CountedSearch(
        text=strings.text,
        reader=strings.reader,
        chances=chances,
        beam=beam,
        sought=plan.sought * (chances.variance / users) ** 0.5,
        shares=shares,
        rng=rng,
    )
    levels = np.array(plan.chances) / sum(plan.chances)
    held_out, *reports = rng.multinomial(users, levels).tolist()
    paths = Paths.root()
    for prefix, count in zip(strings.prefixes, reports, strict=True):
        # Reports of which there are so many, and no more is known.
        paths = search.extended(paths, prefix, LevelRows([], np.zeros(count, dtype=np.uint64)))
    span, other = float(chances.own) - float(chances.other), float(chances.other)
    matched = np.array([other + span * shares.get(code, 0.0) for code in paths.codes])
    counts = HeldOutCounts(rng.binomial(held_out, matched), held_out)
    found = certify(counts, chances, weights_of(paths.chances), plan.error)
    return Outcome.of(given, paths.codes, found.certified)


def by_reports(epsilon: str, users: int, depth: int, beam: int, seed: int) -> Outcome:
    """A campaign of reports of the shipped randomizer."""
    drawn = Planted.of(epsilon, users, depth, beam, seed)
    found = find_strings(drawn.strings, drawn.reports, beam, drawn.plan.error, drawn.plan.sought)
    return Outcome.of(drawn, found.codes, found.certified.certified)


WAYS = {"counts": by_counts, "reports": by_reports}


def share_at_power(listed: NDArray[np.bool_], units: Floats) -> float:
    """Where Φ(a + b·share) is 90 %, fitted to (runs, 24) what was listed, in `units` (24,)."""
    hits, runs = listed.sum(axis=0), len(listed)

    def loss(fitted: Floats) -> float:
        at = fitted[0] + fitted[1] * (units - units.mean())
        return float(-(hits * norm.logcdf(at) + (runs - hits) * norm.logsf(at)).sum())

    start, slope = minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead").x
    return float(units.mean() + (norm.ppf(_POWER) - start) / slope)


def reach(way: str, epsilon: str, users: int, depth: int, beam: int, campaigns: int, seed: int) -> dict[str, Any]:
    """f90 over some campaigns, in units of √(V/n) and as a share."""
    before = time.process_time()
    outcomes = [WAYS[way](epsilon, users, depth, beam, seed + campaign) for campaign in range(campaigns)]
    given = PlantedStrings.drawn(epsilon, users, depth, beam, np.random.default_rng(seed))
    unit = (given.strings.chances.variance / users) ** 0.5
    units = np.linspace(LEAST, MOST, PLANTED) * given.share / unit
    listed, rng = np.stack([each.listed for each in outcomes]), np.random.default_rng(seed)
    again = [share_at_power(listed[rng.integers(0, campaigns, campaigns)], units) for _ in range(_RESAMPLED)]
    found = share_at_power(listed, units)
    return {
        "way": way,
        "epsilon": epsilon,
        "users": users,
        "bits": depth,
        "beam": beam,
        "campaigns": campaigns,
        "planned_units": round(given.plan.found, 2),
        "f90_units": round(found, 2),
        "error_units": round(float(np.std(again)), 2),
        "f90_percent": float(f"{100 * found * unit:.3g}"),
        "error_percent": float(f"{100 * float(np.std(again)) * unit:.2g}"),
        "wrong_lists": sum(each.wrong for each in outcomes),
        "cpu_s": round(time.process_time() - before, 1),
    }


def main() -> None:
    """Print a line of JSON for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", choices=WAYS, help="one way alone")
    given = parser.parse_args()
    for cell in CELLS:
        if given.way in (None, cell[0]):
            print(json.dumps(reach(*cell, given.campaigns, given.seed)), flush=True)


if __name__ == "__main__":
    main()
