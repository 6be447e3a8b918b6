"""Exact moments of symmetric answers from rows of an orbit kernel, without going over its reports.

An answer F = Σ_r f_r H_r, H_0 = 1, is about the attributes of one support. A random arrangement maps some of them to
slots of the row, the others to none; given which, the report's shift there is uniform but for u's marginal on these
slots. How many are mapped, the overlap, may change f.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.symmetry.row_spectrum import Complex
from sordino_analysis.questions.linear.characters import Characters, Integers, Kind, shifted_cells
from sordino_analysis.questions.linear.widths import CharacterBlock

# Up to here a table of shifts is faster than transforms.
_FEW_CELLS = 64


@dataclass(frozen=True, eq=False)
class LocalQuery:
    """β (K,) over the frequencies of a support of attributes of `kinds`, and the orbit (K,) of each; −1 at r = 0."""

    kinds: tuple[Kind, ...]
    weights: Floats
    orbits: Integers

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the attributes."""
        return tuple(size for size, _ in self.kinds)


def moments(
    coefficients: Complex, characters: Characters, kinds: Sequence[Kind], answers: Floats
) -> tuple[Floats, Floats]:
    """(n, c, K) E[F_i | x] and (n, c, c, K) E[F_i F_j | x] at each local cell x, for n rows over the same slots.

    `coefficients` (n, slots …) are û of the rows, `characters` those of the domain, `kinds` the kinds of the attributes
    asked about, and `answers` f (n, c, overlaps, K) at each overlap, 0 to all of the support, and local frequency.
    """
    rows, count, support = len(coefficients), answers.shape[1], [size for size, _ in kinds]
    means, squares = (np.zeros((rows, *lead, *support)) for lead in ((count,), (count, count)))
    tables = answers.reshape(*answers.shape[:3], *support)
    for slots, chance in partial_maps(characters.slot_kinds(coefficients.shape[1:]), kinds, characters.kinds):
        mapped = [axis for axis, slot in enumerate(slots) if slot is not None]
        local = _on_slots(coefficients, [slot for slot in slots if slot is not None])
        used = tuple(slice(None) if axis in mapped else 0 for axis in range(len(slots)))
        # Features of other overlaps are nothing here.
        own = np.flatnonzero(answers[:, :, len(mapped)].any(axis=(0, 2)))
        if not len(own):
            continue
        waves = tables[:, own, len(mapped)][:, :, *used] * np.conj(local)[:, None]
        waves = np.fft.ifftn(waves, axes=tuple(range(2, 2 + len(mapped)))) * local[0].size
        answered = waves.real + waves.imag
        left, right = np.triu_indices(len(own))
        found = _expected(np.concatenate([answered, answered[:, left] * answered[:, right]], axis=1), local)
        lengths = [size if axis in mapped else 1 for axis, size in enumerate(support)]
        found = chance * found.reshape(rows, -1, *lengths)
        means[:, own] += found[:, : len(own)]
        squares[:, own[left], own[right]] += found[:, len(own) :]
    left, right = np.triu_indices(count, 1)
    squares[:, right, left] = squares[:, left, right]
    return means.reshape(rows, count, -1), squares.reshape(rows, count, count, -1)


def report_laws(
    coefficients: Complex, characters: Characters, kinds: Sequence[Kind], answers: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """F (n, shifts) and the chances (n, shifts, K) at each local cell of reports that map the support alike.

    `answers` (n, overlaps, K) are of one query; over all maps the chances of a row and a cell add up to 1.
    """
    support = [size for size, _ in kinds]
    for slots, chance in partial_maps(characters.slot_kinds(coefficients.shape[1:]), kinds, characters.kinds):
        mapped = [axis for axis, slot in enumerate(slots) if slot is not None]
        local = _on_slots(coefficients, [slot for slot in slots if slot is not None])
        used = tuple(slice(None) if axis in mapped else 0 for axis in range(len(slots)))
        axes = tuple(range(1, 1 + len(mapped)))
        waves = answers[:, len(mapped)].reshape(len(answers), *support)[:, *used] * np.conj(local)
        moments = np.fft.ifftn(waves, axes=axes) * local[0].size
        chances = np.fft.ifftn(local, axes=axes).real.reshape(len(local), -1)
        law = chance * chances[:, shifted_cells((*local.shape[1:], 1))]
        lengths = [size if axis in mapped else 1 for axis, size in enumerate(support)]
        by_cell = np.broadcast_to(law.reshape(*law.shape[:2], *lengths), (*law.shape[:2], *support))
        yield (moments.real + moments.imag).reshape(len(law), -1), by_cell.reshape(*law.shape[:2], -1)


def _expected(values: Floats, local: Complex) -> Floats:
    """(n, c, …) E[value at the shift | x] at each cell x of the mapped attributes."""
    axes = tuple(range(2, values.ndim))
    if local[0].size > _FEW_CELLS:
        return np.asarray(np.fft.ifftn(np.fft.fftn(values, axes=axes) * local[:, None], axes=axes).real)
    chances = np.fft.ifftn(local, axes=tuple(range(1, local.ndim))).real.reshape(len(local), -1)
    law = chances[:, shifted_cells((*local.shape[1:], 1))]
    return np.asarray(values.reshape(*values.shape[:2], -1) @ law).reshape(values.shape)


def partial_maps(
    row: Sequence[Kind], support: Sequence[Kind], attributes: Sequence[Kind]
) -> Iterator[tuple[tuple[int | None, ...], float]]:
    """For each attribute of the support the slot that a random arrangement gives it, or None; and the chance of that.

    Of L attributes of a kind, m in slots, w in the support: j of the w are on j given slots with chance
    (L − w)(L − w − 1)…/(L(L − 1)…), with m − j factors above and m below.
    """
    present, slots, wanted = Counter(attributes), Counter(row), Counter(support)
    choices = [[None, *(slot for slot, kind in enumerate(row) if kind == own)] for own in support]
    for chosen in product(*choices):
        used = [slot for slot in chosen if slot is not None]
        if len(set(used)) < len(used):
            continue
        mapped = Counter(row[slot] for slot in used)
        chance = 1.0
        for kind, number in slots.items():
            missing, unused = number - mapped[kind], present[kind] - wanted[kind]
            chance *= (math.perm(unused, missing) if missing >= 0 else 0) / math.perm(present[kind], number)
        if chance > 0:
            yield chosen, chance


def _on_slots(coefficients: Complex, slots: Sequence[int]) -> Complex:
    """û of each row restricted to frequencies on these slots, one axis a slot in the given order."""
    index = (slice(None), *(slice(None) if slot in slots else 0 for slot in range(coefficients.ndim - 1)))
    ranks = np.argsort(np.argsort(slots)) if slots else np.zeros(0, dtype=np.intp)
    return np.asarray(np.transpose(coefficients[index], [0, *(1 + ranks).tolist()]))


def local_query(characters: Characters, block: CharacterBlock, row: int) -> LocalQuery:
    """The query of one row of a block, on the block's first support: all its supports are alike."""
    support = tuple(block.supports[0].tolist())
    places = characters.places(support)
    orbits = np.where(places > 0, characters.orbit_of[places - 1], -1)
    return LocalQuery(tuple(characters.kinds[a] for a in support), block.table[row], orbits)
