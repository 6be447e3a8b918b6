"""`python -m benchmarks.experiments.fieller [--campaigns N] [--seed N] [--json]`: how often sets of a share hold.

Users hold one of four cells at ε = 1: inside a group or not, and what is asked or not. Fieller's set counts as holding
where it has no ends, too; of the campaigns whose interval is printed the share that holds is beside it, and the
interval of the delta method, ratio ± 1.96 of its linearised errors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

USERS, GROUPS, SHARES = (5_000, 50_000, 500_000), (0.02, 0.1, 0.5), (0.05, 0.5)
HEAD = (
    "| users | group | share | Fieller's set holds | delta method holds | printed | of these hold |\n"
    "|---|---|---|---|---|---|---|"
)
_DOMAIN = [
    {"name": "group", "kind": "categorical", "labels": ["in", "out"]},
    {"name": "asked", "kind": "categorical", "labels": ["yes", "no"]},
]
# What is asked among the others.
_ELSEWHERE = 0.3


def cell(users: int, group: float, share: float, campaigns: int, seed: int = 1) -> dict[str, float]:
    """The shares of campaigns that hold, of users who hold whole numbers of the four cells."""
    import numpy as np

    import sordino_analysis as sa
    from sordino_analysis.estimation.answers_on_demand import answerer_of
    from sordino_analysis.estimation.groups import group_answers
    from sordino_analysis.evaluation.integer_kernels import probabilities

    workload = sa.workload({"name": "groups", "domain": _DOMAIN, "queries": "histogram"})
    plan = sa.plan(workload, epsilon=1, mechanism="optimised_kernel")
    kernel = probabilities(plan.device.randomizer)  # type: ignore[arg-type]
    inside, outside = np.array([share, 1 - share]), np.array([_ELSEWHERE, 1 - _ELSEWHERE])
    held = np.rint(users * np.concatenate([group * inside, (1 - group) * outside])).astype(int)
    truth, rng = held[0] / held[:2].sum(), np.random.default_rng(seed)
    found = dict.fromkeys(("holds", "delta", "printed", "printed_holds"), 0.0)
    for _ in range(campaigns):
        total = sa.Aggregate(int(held.sum()), _sums(rng, kernel, held))
        answerer = answerer_of(plan.device, plan.analyst, total)
        ratio: Any = group_answers(answerer, plan.domain, "marginal", ["asked:yes"], "group=in", 0.95).answers[0]
        found["holds"] += ratio.not_ruled_out.holds(truth)
        found["delta"] += _delta_holds(answerer, plan.domain, truth)
        if ratio.interval is not None:
            found["printed"] += 1
            found["printed_holds"] += ratio.interval[0] <= truth <= ratio.interval[1]
    of_printed = found.pop("printed_holds") / max(found["printed"], 1)
    return {name: count / campaigns for name, count in found.items()} | {"of_printed": of_printed}


def _delta_holds(answerer: Any, domain: Any, truth: float) -> bool:
    """Whether N/D ± 1.96·√Var(N − rD)/|D| holds the truth."""
    from sordino_analysis.questions.linear.on_demand import parse_boxes, parse_group

    (asked,), group = parse_boxes(domain, "cell", ["group:in,asked:yes"]), parse_group(domain, "group=in")
    found = answerer.sums([[(1.0, asked)], [(1.0, group)], [(1.0, asked), (1.0, group)]], 0.95)
    numerator, denominator = found.answers[:2]
    own, of_group, both = found.noise / found.users
    ratio = numerator / denominator
    variance = own - ratio * (both - own - of_group) + ratio**2 * of_group
    return bool(abs(ratio - truth) <= 1.96 * variance**0.5 / abs(denominator))


def _sums(rng: np.random.Generator, kernel: Any, held: Any) -> Any:
    counts = [rng.multinomial(int(n), column / column.sum()) for n, column in zip(held, kernel.T, strict=True)]
    return sum(counts)


def cells(campaigns: int, seed: int) -> Iterator[tuple[int, float, float, dict[str, float]]]:
    """All 18."""
    for users in USERS:
        for group in GROUPS:
            for share in SHARES:
                yield users, group, share, cell(users, group, share, campaigns, seed)


def main() -> int:
    """Print a line for each cell; 1 where Fieller's sets hold in less than .94 or more than .96 of the campaigns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.fieller", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="seed of each cell")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each cell")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    wrong = False
    if not options.json:
        print(HEAD)
    for users, group, share, found in cells(options.campaigns, options.seed):
        wrong |= not 0.94 <= found["holds"] <= 0.96
        if options.json:
            print(json.dumps({"users": users, "group": group, "share": share, **found}), flush=True)
        else:
            shown = (found["holds"], found["delta"], found["printed"], found["of_printed"])
            print(f"| {users:,} | {group:g} | {share:g} | {' | '.join(f'{one:.3f}' for one in shown)} |", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
