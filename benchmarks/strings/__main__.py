"""`python -m benchmarks.strings`: strings planted around the planned share, found by real reports; cost of decoding."""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sordino_analysis.strings.device_plan import string_device, string_domain
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.search import StringDomain, find_strings
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened

# ε, devices, bits of code, beam.
CELLS = (
    ("1", 1_000_000, 48, 300),
    ("1", 1_000_000, 48, 1000),
    ("1", 1_000_000, 48, 3000),
    ("4", 200_000, 48, 300),
    ("4", 1_000_000, 48, 300),
    ("6", 200_000, 48, 300),
    ("6", 1_000_000, 48, 300),
    ("2", 1_000_000, 96, 1000),
)
PLANTED, RARE = 24, 4000
_BATCH = 1 << 16


def measured(epsilon: str, users: int, depth: int, beam: int, seed: int) -> dict[str, Any]:
    """One campaign: 24 strings of .6 to 1.25 times the planned share among 4,000 rare ones."""
    plan, rng = LevelPlan(depth, beam, 0.05), np.random.default_rng(seed)
    domain = string_domain("text", shipped_code("bytes").code, plan.ends, "nfc", rng.bytes(16))
    device = string_device(domain, plan, PureEpsilon.of(epsilon))
    assert isinstance(device.randomizer, Coarsened)
    strings = StringDomain(domain, device.randomizer)
    share = plan.found * (strings.chances.variance / users) ** 0.5
    planted = np.linspace(0.6, 1.25, PLANTED) * share
    shares = np.concatenate([planted, np.full(RARE, (1 - planted.sum()) / RARE)])
    texts = [rng.bytes(20).hex() for _ in shares]
    codes = np.array([domain.codes(text) for text in texts], dtype=np.uint64)
    holders = rng.choice(len(shares), size=users, p=shares)
    pages = (
        randomize_part(device, codes[holders[start : start + _BATCH]], SeededRandomness(seed + start))
        for start in range(0, users, _BATCH)
    )
    reports = StringReports.of(device.randomizer, pages)
    before = time.process_time()
    found = find_strings(strings, reports, beam, plan.error, plan.sought)
    seconds = time.process_time() - before
    true = {strings.read(strings.text.bits_of(text)): share for text, share in zip(texts, shares, strict=True)}
    listed = [text for text, sure in zip(found.texts, found.certified.certified, strict=True) if sure]
    missed = [each for text, each in true.items() if text not in listed]
    return {
        "epsilon": epsilon,
        "users": users,
        "bits": depth,
        "beam": beam,
        "planned": share,
        "listed": len(listed),
        "false": sum(text not in true for text in listed),
        "largest_missed": max(missed),
        "cpu_s": round(seconds, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "report_bytes": device.randomizer.payload_bytes,
    }


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """A row for each cell."""
    for epsilon, users, depth, beam in CELLS:
        yield measured(epsilon, users, depth, beam, seed)


def main() -> None:
    """Print a line of JSON for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    for row in rows(parser.parse_args().seed):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
