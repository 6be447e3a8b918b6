"""Reports of a coarsened randomizer: drawn, checked, and unpacked level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.coarsened.levels import LevelReports, draw_level, level_produces, split_fields
from sordino_analysis.vectorized.payloads import Payloads
from sordino_analysis.vectorized.randomness import Words, uniform_below, uniform_bits
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened
from sordino_shared.randomizers.coarsened.bit_fields import index_bits
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS, Weights
from sordino_shared.randomizers.coarsened.randomizer import MAX_NUMBERED
from sordino_shared.randomness import Randomness

# Bits of a machine word.
WORD = 64


def numbered_codes(randomizer: Coarsened, cells: NDArray[np.int64]) -> Words:
    """(n, attributes) the indices of (n,) cells; raises `InvalidValue` where cells have no numbers."""
    if randomizer.size > MAX_NUMBERED:
        raise InvalidValue("more than 2^62 types have no cell numbers: give vectors of indices", randomizer.size)
    codes, rest = np.empty((len(cells), len(randomizer.sizes)), dtype=np.uint64), cells.copy()
    for place in reversed(range(len(randomizer.sizes))):
        rest, codes[:, place] = np.divmod(rest, randomizer.sizes[place])
    return codes


def randomize_coarsened(randomizer: Coarsened, codes: Words, randomness: Randomness) -> Payloads:
    """(n, width) one report for each of the (n, attributes) values."""
    steps = np.cumsum(np.array([level.chance for level in randomizer.levels], dtype=np.uint64))
    drawn = np.searchsorted(steps, uniform_bits(randomness, CHANCE_BITS, len(codes)), side="right")
    payloads = np.empty((len(codes), randomizer.payload_bytes), dtype=np.uint8)
    weights = Weights(randomizer.low, randomizer.high)
    for number, holders in _by_level(drawn):
        fields = draw_level(randomizer.levels[number], randomizer.sizes, codes[holders], weights, randomness)
        named = [np.full(len(holders), number, dtype=np.uint64), *fields]
        payloads[holders] = pack_fields(named, randomizer.field_bits[number], randomizer.payload_bytes)
    return payloads


def with_even_labels(randomizer: Coarsened, payloads: Payloads, randomness: Randomness) -> Payloads:
    """(n, width) the reports with a uniform label, their last field, in place of the holder's."""
    changed = payloads.copy()
    for number, holders in _by_level(_numbers(randomizer, payloads)):
        bits = randomizer.field_bits[number]
        fields = unpack_fields(payloads[holders], bits)
        fields[-1] = uniform_below(randomness, randomizer.levels[number].label.count, len(holders))
        changed[holders] = pack_fields(fields, bits, randomizer.payload_bytes)
    return changed


def coarsened_produces(randomizer: Coarsened, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether some value produces each payload."""
    allowed = np.zeros(len(payloads), dtype=np.bool_)
    for number, holders in _by_level(_numbers(randomizer, payloads)):
        if number < len(randomizer.levels):
            bits = randomizer.field_bits[number]
            fields = unpack_fields(payloads[holders], bits)[1:]
            valid = level_produces(randomizer.levels[number], randomizer.sizes, fields)
            allowed[holders] = valid & is_zero_past(payloads[holders], sum(bits))
    return allowed


def unpack_coarsened(randomizer: Coarsened, payloads: Payloads) -> Iterator[tuple[int, LevelReports]]:
    """Each level that is reported, with its reports in their order; the payloads must be in the alphabet."""
    for number, holders in _by_level(_numbers(randomizer, payloads)):
        fields = unpack_fields(payloads[holders], randomizer.field_bits[number])
        yield number, split_fields(randomizer.levels[number], randomizer.sizes, fields[1:])


def _numbers(randomizer: Coarsened, payloads: Payloads) -> NDArray[np.intp]:
    """(n,) the number of each report's level."""
    numbers = payloads[:, 0] & np.uint8((1 << index_bits(len(randomizer.levels))) - 1)
    return numbers.astype(np.intp)


def _by_level(numbers: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each number that occurs, with the places where it does."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    for number, start, end in zip(found.tolist(), starts.tolist(), ends[: len(found)], strict=True):
        yield number, order[start:end]


def pack_fields(fields: Sequence[Words], widths: Sequence[int], payload_bytes: int) -> Payloads:
    """(n, payload_bytes) of (n,) unsigned integers below 2^width each; what is past the last field is 0."""
    words = np.zeros((-(-payload_bytes // 8), len(fields[0])), dtype=np.uint64)
    start = 0
    for field, width in zip(fields, widths, strict=True):
        if width:
            at, shift = divmod(start, WORD)
            words[at] |= field << np.uint64(shift)
            if shift + width > WORD:
                words[at + 1] |= field >> np.uint64(WORD - shift)
        start += width
    rows = np.ascontiguousarray(words.T.astype("<u8")).view(np.uint8).reshape(len(fields[0]), -1)
    return np.ascontiguousarray(rows[:, :payload_bytes])


def unpack_fields(payloads: Payloads, widths: Sequence[int]) -> list[Words]:
    """(n,) integers of each field, the inverse of `pack_fields`."""
    padded = np.zeros((len(payloads), -(-payloads.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : payloads.shape[1]] = payloads
    words = np.ascontiguousarray(padded.view("<u8").astype(np.uint64).T)
    fields, start = [], 0
    for width in widths:
        fields.append(_field(words, start, width))
        start += width
    return fields


def _field(words: Words, start: int, width: int) -> Words:
    if not width:
        return np.zeros(words.shape[1], dtype=np.uint64)
    at, shift = divmod(start, WORD)
    field = words[at] >> np.uint64(shift)
    if shift + width > WORD:
        field |= words[at + 1] << np.uint64(WORD - shift)
    return np.asarray(field & np.uint64((1 << width) - 1), dtype=np.uint64)


def is_zero_past(payloads: Payloads, start: int) -> NDArray[np.bool_]:
    """(n,) whether every bit from bit `start` on is 0."""
    at, shift = divmod(start, 8)
    if at >= payloads.shape[1]:
        return np.ones(len(payloads), dtype=np.bool_)
    rest = payloads[:, at] >> np.uint8(shift)
    return np.asarray((rest == 0) & ~payloads[:, at + 1 :].any(axis=1))
