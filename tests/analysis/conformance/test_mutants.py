"""`sordino conformance` accepts the shipped samplers and refuses samplers with one mistake each.

The mistakes are those of the checklist in docs/implementing.md, as somebody who writes a device might make them.

A true sampler is refused with chance 10⁻⁶ a test. With REPORTS reports of a value a sampler whose ε is 10 % too large
is missed with chance .01; most other mistakes are larger and shown by a quarter of the reports.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.conformance.samples import Samples
from sordino_analysis.conformance.verdict import judge, reports_needed
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.coarsened.binary_field import multiply, parity
from sordino_analysis.vectorized.coarsened.reports import pack_fields, unpack_fields
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.kernels import kernel_integers
from sordino_analysis.vectorized.randomizers import randomize_many, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_bits
from sordino_shared.domains import Domain, Integers
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    RandomizedResponse,
    ResidueLabel,
    SubsetSelection,
)
from sordino_shared.randomizers.base import cell_codes

ROOT = Path(__file__).parents[3]
REPORTS = 40_000
Draw = Callable[[object, int, int, np.random.Generator], np.ndarray]
SEED = 16
ONE = PureEpsilon.of(1)


def true_payloads(randomizer, cell, count, rng):
    return randomize_many(randomizer, np.full(count, cell), SeededRandomness(int(rng.integers(2**32))))


def drawn_by_codes(part):
    """The shipped sampler of many values, which reads members of attributes."""

    def draw(randomizer, cell, count, rng):
        codes = np.tile(np.array(cell_codes(cell, part.domain.shape), dtype=np.uint64), (count, 1))
        return randomize_part(part, codes, SeededRandomness(int(rng.integers(2**32))))

    return draw


def raw_value(randomizer, cell, count, rng):
    return np.full((count, 1), cell, dtype=np.uint8)


def another_may_be_own(randomizer, cell, count, rng):
    own = 1 - (randomizer.size - 1) * randomizer.other_weight / 2**randomizer.bits
    others = rng.integers(randomizer.size, size=count)
    return np.where(rng.random(count) < own, cell, others).astype(np.uint8)[:, None]


def epsilon_too_large(randomizer, cell, count, rng):
    return true_payloads(RandomizedResponse.for_guarantee(randomizer.size, PureEpsilon.of("1.1")), cell, count, rng)


def value_always_in_set(randomizer, cell, count, rng):
    certain = SubsetSelection(randomizer.size, randomizer.subset_size, 60, 2**60 - 1)
    return true_payloads(certain, cell, count, rng)


def others_are_neighbours(randomizer, cell, count, rng):
    included = rng.random(count) < randomizer.include_weight / 2**randomizer.bits
    others = [at for at in range(randomizer.size) if at != cell]
    payloads = np.zeros((count, 1), dtype=np.uint8)
    for at, (start, own) in enumerate(zip(rng.integers(len(others), size=count), included, strict=True)):
        run = [others[(start + step) % len(others)] for step in range(randomizer.subset_size - own)]
        payloads[at] = sum(1 << member for member in run) | own << cell
    return payloads


def smallest_size_only(randomizer, cell, count, rng):
    return true_payloads(randomizer.parts[0], cell, count, rng)


def members_from_the_top(randomizer, cell, count, rng):
    """The bit of type x is read as bit 7 − x."""
    rows = randomizer.rows
    held = ndarray(rows.members)[:, 0] >> (7 - cell) & 1
    law = np.where(held == 1, ndarray(rows.high), ndarray(rows.low)) / 2.0**randomizer.bits
    return rng.choice(len(law) + 1, size=count, p=[*law, 1 - law.sum()]).astype(np.uint8)[:, None]


def no_null_output(randomizer, cell, count, rng):
    law = kernel_integers(randomizer.rows)[:, cell] / 2.0**randomizer.bits
    return rng.choice(len(law), size=count, p=law / law.sum()).astype(np.uint8)[:, None]


def _bits_of_side(randomizer, cell, seeds, drawn):
    return (drawn @ ndarray(randomizer.vectors)[cell].astype(np.int64) >= 0).astype(np.uint8)


def bit_never_flipped(randomizer, cell, count, rng):
    seeds = rng.integers(256, size=(count, SEED), dtype=np.uint8)
    bits = _bits_of_side(randomizer, cell, seeds, directions(seeds, randomizer.dimension).astype(np.int64))
    return np.hstack([seeds, bits[:, None]])


def bit_reversed(randomizer, cell, count, rng):
    payloads = true_payloads(randomizer, cell, count, rng)
    payloads[:, SEED] ^= 1
    return payloads


def words_big_endian(randomizer, cell, count, rng):
    seeds = rng.integers(256, size=(count, SEED), dtype=np.uint8)
    content = resources.files("sordino_shared.randomizers").joinpath("normal_atoms.bin").read_bytes()
    atoms = np.frombuffer(content, dtype="<i2").astype(np.int64)
    stretched = [
        hashlib.shake_128(b"sordino/v1/direction" + s.tobytes()).digest(2 * randomizer.dimension) for s in seeds
    ]
    words = np.frombuffer(b"".join(stretched), dtype=">u2").reshape(count, -1).astype(np.int64)
    sides = _bits_of_side(randomizer, cell, seeds, np.where(words >> 15, -1, 1) * atoms[words & 0x7FFF])
    kept = rng.random(count) < ndarray(randomizer.keep_weights)[cell] / 2.0**randomizer.bits
    return np.hstack([seeds, (sides ^ ~kept)[:, None].astype(np.uint8)])


def table_by_columns(randomizer, cell, count, rng):
    law = kernel_integers(randomizer.rows)[cell] / 2.0**randomizer.bits
    return rng.choice(len(law), size=count, p=law).astype(np.uint8)[:, None]


def seed_in_favour(randomizer, cell, count, rng):
    """Every bit is flipped as it should be, and the seed alone tells the value."""
    payloads = true_payloads(randomizer, cell, 3 * count, rng)
    sides = _bits_of_side(randomizer, cell, None, directions(payloads[:, :SEED], randomizer.dimension).astype(np.int64))
    return payloads[sides == 1][:count]


def multiplier_in_favour(randomizer, cell, count, rng):
    """A multiplier is drawn again until the value has a member's label by it; y hides the label as it should."""
    payloads, label = true_payloads(randomizer, cell, 6 * count, rng), randomizer.levels[0].label
    words = unpack_fields(payloads, randomizer.field_bits[0])[-2]
    degree = randomizer.field_bits[0][-2]
    labels = multiply(words, np.full_like(words, cell), degree) >> np.uint64(degree - label.label_bits)
    members = int.from_bytes(randomizer.levels[0].members, "little")
    return payloads[members >> labels.astype(object) & 1 == 1][:count]


def seed_reused(randomizer, cell, count, rng):
    """A generator that starts anew for every second report."""
    return np.repeat(true_payloads(randomizer, cell, count // 2, rng), 2, axis=0)


def shift_reversed(randomizer, cell, count, rng):
    payloads = true_payloads(randomizer, cell, count, rng)
    for number, row in enumerate(randomizer.rows):
        mine = payloads[:, 0] == number
        shifts = np.stack(np.unravel_index(payloads[mine, -2], row.shape), axis=1)
        back = -shifts % np.array(row.shape)
        payloads[mine, -2] = np.ravel_multi_index(tuple(back.T), row.shape)
    return payloads


def slots_in_order(randomizer, cell, count, rng):
    """Attributes are given to slots in increasing order only."""
    payloads = true_payloads(randomizer, cell, 4 * count, rng)
    rising = (payloads[:, 2] == 255) | (payloads[:, 1] < payloads[:, 2])
    return payloads[rising][:count]


def parts_share_randomness(randomizer, cell, count, rng):
    payloads = true_payloads(randomizer, cell, count, rng)
    second = SeededRandomness(int(rng.integers(2**32)))
    width = randomizer.first.payload_bytes
    payloads[:, width : width + SEED] = payloads[:, :SEED]
    sides = _bits_of_side(
        randomizer.second, cell, None, directions(payloads[:, :SEED], randomizer.second.dimension).astype(np.int64)
    )
    keep = ndarray(randomizer.second.keep_weights)[cell]
    kept = uniform_bits(second, randomizer.second.bits, count) < keep
    payloads[:, -1] = np.where(kept, sides, 1 - sides)
    return payloads


def _altered(randomizer, payloads, level, change):
    """The payloads with the fields of one level's reports changed: `change` gets and returns lists of arrays."""
    payloads = payloads.copy()
    bits = randomizer.field_bits[level]
    mine = np.flatnonzero(payloads[:, 0] & ((1 << bits[0]) - 1) == level)
    fields = change(unpack_fields(payloads[mine], bits))
    payloads[mine] = pack_fields(fields, bits, randomizer.payload_bytes)
    return payloads


def label_bits_reversed(randomizer, cell, count, rng):
    """The first row gives the highest bit of the label."""

    def change(fields):
        _, low, high, y = fields
        label = parity(low & np.uint64(cell)) | parity(high & np.uint64(cell)) << np.uint64(1)
        turned = label >> np.uint64(1) | (label & np.uint64(1)) << np.uint64(1)
        return [*fields[:3], y ^ label ^ turned]

    return _altered(randomizer, true_payloads(randomizer, cell, count, rng), 0, change)


def zero_multiplier_left_out(randomizer, cell, count, rng):
    payloads = true_payloads(randomizer, cell, 2 * count, rng)
    return payloads[unpack_fields(payloads, randomizer.field_bits[0])[1] > 0][:count]


def residues_by_xor(randomizer, cell, count, rng):
    """y = t XOR z for a comb, whose labels are numbers modulo 4."""

    def change(fields):
        number, offset, y = fields
        label = (np.uint64(cell) + offset) // np.uint64(3) % np.uint64(4)
        return [number, offset, label ^ (label - y) % np.uint64(4)]

    return _altered(randomizer, true_payloads(randomizer, cell, count, rng), 2, change)


def offset_of_a_random_byte(randomizer, cell, count, rng):
    """An offset below 40 is the rest of a byte: the first 16 come seven times in 256, the others six times."""
    payloads = true_payloads(randomizer, cell, 2 * count, rng)
    bytes_of_offset = np.bincount(np.arange(256) % 40)
    offsets = unpack_fields(payloads, randomizer.field_bits[0])[1].astype(np.int64)
    return payloads[rng.random(len(payloads)) < bytes_of_offset[offsets] / 7][:count]


def digits_as_one_number(randomizer, cell, count, rng):
    """y = (t − z) mod 6, without the two digits of the axes."""

    def change(fields):
        *rest, y = fields
        first, second = divmod(cell, 4)
        label = (np.uint64(first) + rest[1]) // np.uint64(2) % np.uint64(2) * np.uint64(3) + np.uint64(second % 3)
        tens = (label // np.uint64(3) + np.uint64(2) - y // np.uint64(3)) % np.uint64(2)
        ones = (label % np.uint64(3) + np.uint64(3) - y % np.uint64(3)) % np.uint64(3)
        return [*rest, (label + np.uint64(6) - (tens * np.uint64(3) + ones)) % np.uint64(6)]

    return _altered(randomizer, true_payloads(randomizer, cell, count, rng), 0, change)


def _rounded(randomizer, members, count, rng, to_type):
    """Payloads of the inner randomizer for the type that each member becomes by `to_type`."""
    [knots] = randomizer.knots
    types = np.array([to_type(knots, member) for member in np.full(count, members).tolist()])
    return randomize_many(randomizer.inner, types, SeededRandomness(int(rng.integers(2**32))))


def _place(knots, member):
    """(place of the last knot at or below, span, what the member is above it); no span where nothing is drawn."""
    if member >= knots[-1]:
        return len(knots) - 1 + member - knots[-1], None, 0
    place = max(at for at, knot in enumerate(knots) if knot <= member)
    return place, knots[place + 1] - knots[place], member - knots[place]


def _mutated(decides):
    """A sampler that takes the upper knot where `decides(rng, span, above)` says so."""

    def draw(randomizer, cell, count, rng):
        def to_type(knots, member):
            place, span, above = _place(knots, member)
            return place if span is None else place + bool(decides(rng, span, above))

        return _rounded(randomizer, cell, count, rng, to_type)

    return draw


def first_of_a_jump(randomizer, cell, count, rng):
    def to_type(knots, member):
        place, span, above = _place(knots, member)
        lowest = knots.index(member) if member in knots else place
        return lowest if above == 0 and member < knots[-1] else place + bool(span and rng.integers(span) < above)

    return _rounded(randomizer, cell, count, rng, to_type)


# The mistake in the words of the checklist: the vector that shows it, and the sampler that makes it.
MUTANTS: dict[str, tuple[str, Draw]] = {
    "the raw value is sent": ("randomized_response", raw_value),
    "another value may be the own one": ("randomized_response", another_may_be_own),
    "ε is 10 % too large": ("randomized_response", epsilon_too_large),
    "the generator is reused": ("randomized_response", seed_reused),
    "the value is always in the set": ("subset_selection", value_always_in_set),
    "the others of a set are neighbours": ("subset_selection", others_are_neighbours),
    "only the first size is drawn": ("subset_mixture", smallest_size_only),
    "members are read from the top bit": ("finite_kernel_null", members_from_the_top),
    "the null output is never sent": ("finite_kernel_null", no_null_output),
    "the table is read by columns": ("finite_kernel_square", table_by_columns),
    "the seed is drawn again": ("seeded_direction_long", seed_in_favour),
    "the bit is never flipped": ("seeded_direction_long", bit_never_flipped),
    "the bit is reversed": ("seeded_direction_long", bit_reversed),
    "words are read big-endian": ("seeded_direction_long", words_big_endian),
    "the shift is reversed": ("orbit_kernel", shift_reversed),
    "slots take attributes in order only": ("orbit_kernel", slots_in_order),
    "the rows of a label are read from the top": ("coarsened_linear", label_bits_reversed),
    "the multiplier is drawn again": ("coarsened_field", multiplier_in_favour),
    "a multiplier of 0 is left out": ("coarsened_field", zero_multiplier_left_out),
    "residues are combined by XOR": ("coarsened_grids", residues_by_xor),
    "an offset is the rest of a random number": ("coarsened_offsets", offset_of_a_random_byte),
    "digits are subtracted as one number": ("coarsened_axes", digits_as_one_number),
    "a number is rounded to the nearest knot": ("dithered", _mutated(lambda rng, span, above: 2 * above >= span)),
    "the drawn number is the rest of a byte": (
        "dithered", _mutated(lambda rng, span, above: rng.integers(256) % span < above)
    ),
    "the number is drawn twice": (
        "dithered", _mutated(lambda rng, span, above: rng.integers(span, size=2).min() < above)
    ),
    "the upper knot is taken at u = U − knot": (
        "dithered", _mutated(lambda rng, span, above: rng.integers(span) <= above)
    ),
    "a jump goes to the first of both": ("dithered", first_of_a_jump),
    "both parts of a pair share a seed": ("pair_with_directions", parts_share_randomness),
}  # fmt: skip


def words_in_favour(randomizer, cell, count, rng):
    """The words of a linear label are drawn again until the first bit of the value's label is 0."""
    payloads = true_payloads(randomizer, cell, 3 * count, rng)
    words = unpack_fields(payloads, randomizer.field_bits[0])[-3]
    return payloads[parity(words & np.uint64(cell)) == 0][:count]


def offsets_in_favour(randomizer, cell, count, rng):
    """Both offsets are drawn again until they move the value into another cell on both axes or on none."""
    payloads = true_payloads(randomizer, cell, 3 * count, rng)
    fields = unpack_fields(payloads, randomizer.field_bits[0])
    width, (first, second) = randomizer.levels[0].partition.widths[0], divmod(cell, randomizer.sizes[1])
    moved = [at % width + offset >= width for at, offset in ((first, fields[1]), (second, fields[2]))]
    return payloads[moved[0] == moved[1]][:count]


NEEDS_ALL = (
    "ε is 10 % too large",
    "an offset is the rest of a random number",
    "the drawn number is the rest of a byte",
    "the upper knot is taken at u = U − knot",
)
# Values whose reports are drawn, where the domain has them: of `dithered` a knot, the next one, one within, a jump.
VALUES = (0, 1, 16, 40)


# Too many payloads to list, and values of many bits: no bit of what is drawn again comes too often.
LARGE: dict[str, tuple[Coarsened, int, Draw]] = {
    "field": (
        Coarsened.for_guarantee((1 << 24,), (Level(1 << 32, GridPartition((1,)), FieldLabel(3), b"\x0f"),), ONE),
        0xB5A1C7, multiplier_in_favour,
    ),
    "linear": (
        Coarsened.for_guarantee((1 << 24,), (Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x01"),), ONE),
        0xB5A1C7, words_in_favour,
    ),
    "grid": (
        Coarsened.for_guarantee(
            (1024, 1024), (Level(1 << 32, GridPartition((128, 128)), ResidueLabel((2, 2)), b"\x01"),), ONE
        ),
        (200 << 10) + 450, offsets_in_favour,
    ),
}  # fmt: skip


def judge_one(randomizer, cell: int, payloads: np.ndarray, **terms):
    domain = Domain(tuple(Integers(f"a{at}", 0, size - 1) for at, size in enumerate(shape_of(randomizer))))
    taken = Samples(randomizer.payload_bytes, bytearray(payloads.tobytes()), array("Q", range(len(payloads))))
    return judge(DevicePart(domain, ONE, randomizer), {cell: taken}, **terms)


def shape_of(randomizer) -> tuple[int, ...]:
    return getattr(randomizer, "sizes", None) or getattr(randomizer, "shape", None) or (randomizer.size,)


@pytest.mark.parametrize("name", LARGE)
def test_what_is_drawn_in_favour_of_a_value_is_noticed_in_large_domains(name: str) -> None:
    """Every law given what is drawn again holds: only that it was drawn again shows. ε is infinite."""
    randomizer, cell, draw = LARGE[name]
    honest, mutant = (
        judge_one(randomizer, cell, one(randomizer, cell, REPORTS // 4, np.random.default_rng(21)))
        for one in (true_payloads, draw)
    )
    assert honest.p > honest.false_alarm, honest
    assert mutant.outcome == "differs", mutant


def test_a_seed_in_favour_of_any_type_is_noticed() -> None:
    """Seeds drawn again for a type that nobody holds are no true sampler either."""
    part = PARTS["seeded_direction_long"]
    rng = np.random.default_rng(23)
    payloads = true_payloads(part.randomizer, 0, REPORTS // 2, rng)
    drawn = directions(payloads[:, :SEED], part.randomizer.dimension).astype(np.int64)
    payloads = payloads[drawn @ ndarray(part.randomizer.vectors)[2].astype(np.int64) < 0]
    verdict = judge(part, {0: Samples(SEED + 1, bytearray(payloads.tobytes()), array("Q", range(len(payloads))))})
    assert verdict.outcome == "differs"
    assert "vector of type 2" in verdict.seen


def parts() -> dict[str, DevicePart]:
    content = json.loads((ROOT / "tests/vectors/v1/good/sampling.json").read_text("ascii"))
    return {v["name"]: DevicePart.read(bytes.fromhex(v["device_part"])) for v in content["vectors"]}


PARTS = parts()


def verdict_on(draw, part: DevicePart, seed: int, reports: int = REPORTS):
    rng, randomizer = np.random.default_rng(seed), part.randomizer
    samples = {}
    for cell in {*(cell for cell in VALUES if cell < part.domain.size), part.domain.size - 1}:
        payloads = draw(randomizer, cell, reports, rng)
        samples[cell] = Samples(
            randomizer.payload_bytes, bytearray(payloads.tobytes()), array("Q", range(len(payloads)))
        )
    return judge(part, samples)


@pytest.mark.parametrize("name", PARTS)
def test_the_shipped_sampler_conforms(name: str) -> None:
    verdict = verdict_on(drawn_by_codes(PARTS[name]), PARTS[name], seed=11)
    assert verdict.p > verdict.false_alarm
    assert verdict.outcome == "conforms" or verdict.needed > REPORTS


@pytest.mark.parametrize("mistake", MUTANTS)
def test_every_mistake_is_noticed(mistake: str) -> None:
    vector, draw = MUTANTS[mistake]
    reports = REPORTS if mistake in NEEDS_ALL else REPORTS // 4
    verdict = verdict_on(draw, PARTS[vector], seed=12, reports=reports)
    assert verdict.outcome == "differs", (mistake, verdict)


@pytest.mark.parametrize(
    "name", ["orbit_kernel", "seeded_direction_long", *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
)
def test_a_true_sampler_is_refused_as_seldom_as_stated(name: str) -> None:
    """At a stated rate of 10 % and 200 runs: more than 40 refusals have a chance of 10⁻⁵."""
    refused = 0
    randomizer, cell, _ = LARGE.get(name) or (PARTS[name].randomizer, 1, None)
    for seed in range(200):
        payloads = true_payloads(randomizer, cell, 300, np.random.default_rng(seed))
        refused += judge_one(randomizer, cell, payloads, false_alarm=0.1).outcome == "differs"
    assert refused <= 40


def test_too_few_reports_are_no_pass() -> None:
    verdict = verdict_on(true_payloads, PARTS["randomized_response"], seed=13, reports=100)
    assert verdict.outcome == "too_few"
    assert verdict.needed > 100


def test_the_reports_needed_show_an_epsilon_a_tenth_too_large() -> None:
    """With the reports that are said to be needed at least 95 of 100 runs notice it: fewer have a chance of .002."""
    part = PARTS["randomized_response"]
    part = DevicePart(part.domain, PureEpsilon.of(1), part.randomizer)
    needed = reports_needed(part, 0, 1)
    noticed = 0
    for seed in range(100):
        payloads = epsilon_too_large(part.randomizer, 0, needed, np.random.default_rng(seed))
        samples = {0: Samples(1, bytearray(payloads.tobytes()), array("Q", range(needed)))}
        noticed += judge(part, samples).outcome == "differs"
    assert noticed >= 95


def test_the_checklist_of_the_page_is_the_list_of_mistakes() -> None:
    page = (ROOT / "docs" / "implementing.md").read_text("utf-8")
    rows = re.findall(r"^\| \[ \] (.+?) \|.*\| `(\w+)` \|$", page, re.MULTILINE)
    assert dict(rows) == {mistake: vector for mistake, (vector, _) in MUTANTS.items()}
