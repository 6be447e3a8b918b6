"""`python -m benchmarks.strings.compared`: other ways to find strings in reports of the same randomizer.

`levels alone` keeps the children with the largest counts of each level and lists as many as are planted, without a
held-out level and without an error rate (PEM, Wang, Li and Jha 2018); it reads the levels of the same reports. `one
bit a level` is ours with a level for each bit, on reports of the same devices. `exhaustive` counts every code of the
first level, where that is all of it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.strings.planted import PLANTED, Planted
from sordino_analysis.strings.beam import Paths, PathSearch
from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.level_counts import child_counts
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.search import find_strings, held_out_counts

# ε, devices, bits of code, beam.
CELLS = (("4", 200_000, 20, 300), ("4", 200_000, 48, 300))


class OneBitALevel(LevelPlan):
    """A level for each bit of the code."""

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """1, 2, …, the depth."""
        return tuple(range(1, self.depth + 1))


def row(way: str, drawn: Planted, listed: Sequence[int], seconds: float) -> dict[str, Any]:
    """Which planted strings are on a list, and which strings that nobody holds."""
    true, planted = drawn.true_shares(), drawn.codes[:PLANTED]
    return {
        "way": way,
        "bits": drawn.plan.depth,
        "users": len(drawn.holders),
        "planted_listed": len({*listed} & {*planted}),
        "false": sum(code not in true for code in listed),
        "cpu_s": round(seconds, 2),
    }


def ours(way: str, drawn: Planted, beam: int) -> dict[str, Any]:
    """Paths and certification."""
    before = time.process_time()
    found = find_strings(drawn.strings, drawn.reports, beam, drawn.plan.error, drawn.plan.sought)
    seconds = time.process_time() - before
    sure = found.certified.certified.tolist()
    return row(way, drawn, [code for code, yes in zip(found.codes, sure, strict=True) if yes], seconds)


def levels_alone(drawn: Planted, beam: int) -> dict[str, Any]:
    """The largest counts of each level, whatever those of the levels before; the list is the best `PLANTED`."""
    before, codes = time.process_time(), (0,)
    for number, prefix in enumerate(drawn.strings.prefixes):
        piece, left = prefix.last - prefix.first, drawn.plan.depth - prefix.first
        members = [prefix.index_of(drawn.strings.text, code << left) >> piece for code in codes]
        best: list[tuple[int, int]] = []
        for block, counts in child_counts(drawn.reports.rows(number + 1), piece, np.array(members, dtype=np.uint64)):
            flat = counts.reshape(-1)
            top = np.argpartition(flat, -min(beam, len(flat)))[-beam:]
            for place in top.tolist():
                child, parent = divmod(place, counts.shape[1])
                best.append((int(flat[place]), codes[block.start + parent] << piece | child))
        codes = tuple(code for _, code in sorted(best, reverse=True)[:beam])
    return row("levels alone", drawn, codes[:PLANTED], time.process_time() - before)


def one_bit(drawn: Planted, beam: int) -> dict[str, Any]:
    """Paths and certification with a level for each bit, whose children are counted one by one."""
    before, strings, plan = time.process_time(), drawn.strings, drawn.plan
    chances, codes, odds = strings.chances, [0], np.array([np.inf])
    span, sought = float(chances.own - chances.other), plan.sought * (chances.variance / len(drawn.holders)) ** 0.5
    for number, prefix in enumerate(strings.prefixes):
        rows, left = drawn.reports.rows(number + 1), plan.depth - prefix.last
        children = [code << 1 | bit for code in codes for bit in (0, 1)]
        members = np.array([prefix.index_of(strings.text, code << left) for code in children], dtype=np.uint64)
        error = (chances.variance / len(rows)) ** 0.5
        units = (drawn.reports.held_counts(number + 1, members) / len(rows) - float(chances.other)) / span / error
        share = np.repeat(np.clip(1 / (1 + np.exp(-odds)), 1e-300, 1 - 1e-12), 2) / 2
        scores = units * sought / error - (sought / error) ** 2 / 2 + np.log(share) - np.log1p(-share)
        best = np.argsort(-scores, kind="stable")[:beam]
        codes, odds = [children[place] for place in best.tolist()], scores[best]
    weights = weights_of(1 / (1 + np.exp(-odds)))
    found = certify(held_out_counts(strings, drawn.reports, codes), chances, weights, plan.error)
    listed = [code for code, yes in zip(codes, found.certified.tolist(), strict=True) if yes]
    return row("one bit a level", drawn, listed, time.process_time() - before)


def exhaustive(drawn: Planted) -> dict[str, Any]:
    """All codes of a text of one level by their counts, the best `PLANTED` of them."""
    before, (prefix,) = time.process_time(), drawn.strings.prefixes
    search = PathSearch(
        text=drawn.strings.text,
        reader=drawn.strings.reader,
        chances=drawn.strings.chances,
        beam=PLANTED,
        sought=drawn.plan.sought * (drawn.strings.chances.variance / len(drawn.holders)) ** 0.5,
    )
    found = search.extended(Paths.root(), prefix, drawn.reports.rows(1))
    return row("exhaustive", drawn, found.codes, time.process_time() - before)


def main() -> None:
    """Print a line of JSON for each way and cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    for epsilon, users, depth, beam in CELLS:
        drawn = Planted.of(epsilon, users, depth, beam, seed)
        rows = [ours("ours", drawn, beam), levels_alone(drawn, beam)]
        rows += [exhaustive(drawn)] if len(drawn.strings.prefixes) == 1 else []
        bits = Planted.of(epsilon, users, depth, beam, seed, levels=OneBitALevel)
        for each in (*rows, one_bit(bits, beam)):
            print(json.dumps({"epsilon": epsilon, "share": round(drawn.share, 6)} | each), flush=True)


if __name__ == "__main__":
    main()
