"""How often 95 % intervals and bands of releases hold, over 1,000 releases each."""

from collections.abc import Iterator

import numpy as np

from benchmarks.curator.workloads import RHO, named, zipf_people
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.curator.release import measure, released_estimate
from sordino_analysis.curator.released_counts import released_counts
from sordino_analysis.request_terms import Neighbours

_NAMES = ("prefix 16", "histogram 16", "ranges 8", "marginals 2 4", "parities 2 4", "signs 8 16")


def table(*, quick: bool) -> Iterator[str]:
    """A line a workload, relation and number of people: mean coverage over queries, that of the band, and a verdict."""
    yield "| workload | neighbours | people | intervals | band | shares | 94–96 % |"
    yield "|---" * 7 + "|"
    for name in _NAMES[:1] if quick else _NAMES:
        for neighbours in ("replace", "add-remove"):
            for users in (50, 500, 5000):
                yield _line(name, neighbours, users, 50 if quick else 1000)


def _line(name: str, neighbours: Neighbours, users: int, releases: int) -> str:
    plan = plan_release(named(name), RHO, "mean", neighbours=neighbours)
    [counts] = zipf_people(plan.workload.size, users, 1)
    truth, noise = plan.workload.operator.matvec(counts.astype(float)), CuratorNoise()
    held, bands, shares = [], [], []
    for _ in range(releases):
        measured = measure(plan, counts, noise)
        if neighbours == "replace":
            found, wanted = released_estimate(plan, measured, users), truth / users
        else:
            found, wanted = released_counts(plan, measured), truth
            shares.append((found.share_lower <= truth / users) & (truth / users <= found.share_upper))
        held.append((found.lower <= wanted) & (wanted <= found.upper))
        bands.append(bool(((found.band_lower <= wanted) & (wanted <= found.band_upper)).all()))
    coverage = float(np.mean(held))
    verdict = "yes" if 0.94 <= coverage <= 0.96 else "no"
    of_shares = f"{np.mean(shares):.4f}" if shares else ""
    return f"| {name} | {neighbours} | {users:,} | {coverage:.4f} | {np.mean(bands):.3f} | {of_shares} | {verdict} |"
