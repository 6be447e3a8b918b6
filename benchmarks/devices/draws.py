"""`python -m benchmarks.devices.draws`: what a dithered draw costs beside that of its inner randomizer.

Both implementations draw with the system's generator: a device one value, the array code 100,000 values at once. Each
number is the least of seven tries, in processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from sordino_analysis.vectorized.randomizers import randomize_codes, randomize_many
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    AnyRandomizer,
    Dithered,
    RandomizedResponse,
    SubsetSelection,
)
from sordino_shared.randomness import SystemRandomness

ONE_AT_A_TIME, AT_ONCE, TRIES = 2_000, 100_000, 7
LARGEST = 1 << 32
_ONE = PureEpsilon.of(1)


def main() -> None:
    """Measure and print."""
    print("| dithered | knots | one value, µs | its inner | 100,000 values, ns each | its inner |")
    print("|---|---|---|---|---|---|")
    for name, dithered in cases():
        cells = range(dithered.inner.size)
        device = _device(dithered, [1 + 977 * place % LARGEST for place in range(ONE_AT_A_TIME)])
        inner_device = _device(dithered.inner, [cells[place % len(cells)] for place in range(ONE_AT_A_TIME)])
        many, inner_many = _arrays(dithered), _arrays(dithered.inner)
        knots = sum(map(len, dithered.knots))
        print(
            f"| {name} | {knots:,} | {device:.1f} | {inner_device:.1f} | {many:,.0f} | {inner_many:,.0f} |", flush=True
        )


def cases() -> Iterator[tuple[str, Dithered]]:
    """A number of 2^32 steps, on few knots and on the most, in each kind of randomizer that stands inside."""
    for levels in (17, 1025):
        knots = (tuple(LARGEST * place // (levels - 1) for place in range(levels)),)
        yield "randomized response", Dithered(knots, RandomizedResponse.for_guarantee(levels, _ONE))
        yield "subset selection", Dithered(knots, SubsetSelection.for_guarantee(levels, levels // 4, _ONE))
    knots = (tuple(LARGEST * place // 16 for place in range(17)),) * 2
    yield "randomized response on 17 × 17", Dithered(knots, RandomizedResponse.for_guarantee(289, _ONE))


def _device(randomizer: AnyRandomizer, values: list[int]) -> float:
    """Microseconds of a draw in plain integers."""
    source = SystemRandomness()
    if isinstance(randomizer, Dithered):
        attributes = len(randomizer.knots)
        codes, shape = [[value] * attributes for value in values], (LARGEST + 1,) * attributes
        return 1e6 * _least(lambda: [randomizer.randomize_codes(each, shape, source) for each in codes]) / len(values)
    return 1e6 * _least(lambda: [randomizer.randomize(value, source) for value in values]) / len(values)


def _arrays(randomizer: AnyRandomizer) -> float:
    """Nanoseconds of a draw among many."""
    source, places = SystemRandomness(), np.arange(AT_ONCE, dtype=np.int64)
    if isinstance(randomizer, Dithered):
        members = (1 + 977 * places % LARGEST).astype(np.uint64)
        codes = np.repeat(members[:, None], len(randomizer.knots), axis=1)
        shape = (LARGEST + 1,) * len(randomizer.knots)
        return 1e9 * _least(lambda: randomize_codes(randomizer, codes, shape, source)) / AT_ONCE
    return 1e9 * _least(lambda: randomize_many(randomizer, places % randomizer.size, source)) / AT_ONCE


def _least(work: Callable[[], object]) -> float:
    found = []
    for _ in range(TRIES):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    main()
