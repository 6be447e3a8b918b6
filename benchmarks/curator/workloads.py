"""The workloads of the tables."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.specification import builtin_specification

# (1, 10⁻⁶) at most.
RHO = Zcdp.of("0.024356")


def named(text: str) -> Workload:
    """`prefix 128`, `ranges 32`, `histogram 32`, `signs 64 128`, `marginals 2 6` and `parities 2 8` (width, bits)."""
    kind, *numbers = text.split()
    sizes = [int(number) for number in numbers]
    if kind in ("marginals", "parities"):
        labels = [{"name": f"a{bit}", "kind": "categorical", "labels": ["0", "1"]} for bit in range(sizes[1])]
        queries = {"kind": kind, "width": sizes[0], "exactly": kind == "marginals"}
        return parse_specification({"name": text, "domain": labels, "queries": queries}).build()
    if kind == "signs":
        signs = np.random.default_rng(sum(sizes)).choice([-1.0, 1.0], sizes)
        domain = [{"name": "a", "kind": "categorical", "labels": [str(cell) for cell in range(sizes[1])]}]
        return parse_specification({"name": text, "domain": domain, "queries": {"matrix": signs.tolist()}}).build()
    return builtin_specification(kind, sizes[0]).build()


def zipf_people(size: int, users: int, draws: int, exponent: float = 1.2) -> Iterator[NDArray[np.int64]]:
    """(size,) counts of users whose shares are 1/rank^exponent over types in random order."""
    for seed in range(draws):
        generator = np.random.default_rng(seed)
        shares = generator.permutation(1 / np.arange(1, size + 1) ** exponent)
        yield generator.multinomial(users, shares / shares.sum())
