"""How large a blanket makes one report (ε, δ)-private, even if all others are fake.

The laws are those of `sordino_shared.shuffling`, which shufflers and auditors prove again without numpy. Here the
envelope of a table is an array computation, so that a planner can compare many tables.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import TINY, Floats
from sordino_analysis.guarantees.approximate import check_delta
from sordino_analysis.guarantees.shuffled import least_count
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Dithered, FiniteKernel
from sordino_shared.shuffling.claims import LEAST_CLAIM, largest_bound
from sordino_shared.shuffling.laws import MAX_STEPS, loss_of
from sordino_shared.shuffling.profile import LossLaw, delta_of

# As in `sordino_shared.shuffling.envelope`.
_CELLS = 256


def envelope_of(table: Floats, power: float) -> LossLaw:
    """`sordino_shared.shuffling.envelope.envelope` of a table (outputs, types) whose columns sum to 1.

    The cost grows with types² · outputs: 128 types and 256 outputs take .2 s.
    """
    blanket = table.mean(axis=1)
    possible = blanket > 0
    weights = blanket[possible]
    likelihoods = (table[possible] / weights[:, None]).T
    lowest, highest = likelihoods.min(), likelihoods.max()
    first, last = lowest - power * highest, highest - power * lowest
    step = (last - first) / _CELLS
    places = _CELLS + 3
    others = (power * likelihoods + first) / step
    rows = (np.arange(len(likelihoods)) * places)[:, None]
    largest = np.zeros(places)
    for number, own in enumerate(likelihoods):
        place = np.maximum(own / step - others, 0.0)
        below = place.astype(np.int64)
        above = (place - below) * weights
        cells = np.bincount((rows + below).ravel(), (weights - above).ravel(), minlength=rows.size * places)
        cells += np.bincount((rows + below + 1).ravel(), above.ravel(), minlength=rows.size * places)
        at_least = np.cumsum(cells.reshape(-1, places)[:, ::-1], axis=1)
        tails = np.zeros((len(at_least), places))
        tails[:, :-1] = np.cumsum(at_least, axis=1)[:, -2::-1]
        # A value and itself are no pair.
        tails[number] = 0.0
        np.maximum(largest, tails.max(axis=0), out=largest)
    slopes = np.concatenate([[1.0], largest[:-1] - largest[1:], [0.0]])
    chances = np.maximum(0.0, slopes[:-1] - slopes[1:])
    values = first + np.arange(places) * step
    kept = chances > 0
    return list(zip(values[kept].tolist(), (chances[kept] / chances.sum()).tolist(), strict=True))


def loss_law(randomizer: AnyRandomizer, power: float) -> LossLaw:
    """`sordino_shared.shuffling.laws.loss_of`, the envelope of a table as an array computation.

    Raises InvalidValue where no claim can be proved of the randomizer.
    """
    if isinstance(randomizer, Dithered):
        return loss_law(randomizer.inner, power)
    if isinstance(randomizer, FiniteKernel) and randomizer.size**2 * randomizer.outputs <= MAX_STEPS:
        table: Floats = kernel_table(randomizer) / float(1 << randomizer.bits)
        return envelope_of(table / table.sum(axis=0), power)
    return loss_of(randomizer, power)


def least_blanket(law: LossLaw, delta: Fraction) -> int:
    """m, the fewest random reports found with which the claim is at most `delta`; within .1 %.

    `law` is that of the loss at the ε asked for. Raises InvalidValue for a δ outside [10⁻¹⁵, 1), one that no claim can
    be as small as, and where 10⁹ reports do not suffice.
    """
    check_delta(delta)
    wanted = largest_bound(float(delta))
    if wanted <= 0:
        raise InvalidValue(f"a claim is above {LEAST_CLAIM:g}: ask for a larger δ than {float(delta):g}", delta)
    return least_count(lambda blanket: delta_of(law, blanket, law_of_sum), 1, Fraction(wanted))


def law_of_sum(spread: dict[int, float], count: int, cells: int) -> list[float]:
    """The transform of `delta_of` in arrays."""
    dense = np.zeros(cells)
    np.add.at(dense, np.array(list(spread)) % cells, list(spread.values()))
    waves = np.fft.rfft(dense)
    sizes, angles = np.abs(waves), np.angle(waves)
    powers = np.exp(count * np.log(np.maximum(sizes, TINY))) * np.exp(1j * count * angles)
    chances: list[float] = np.maximum(0.0, np.fft.irfft(powers, cells)).tolist()
    return chances
