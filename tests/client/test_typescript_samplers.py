"""Samplers of the TypeScript SDK with one mistake each: counting refuses every one, and takes the SDK as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sordino_analysis.conformance.samples import read_samples
from sordino_analysis.conformance.verdict import ConformanceResult, judge
from sordino_shared.protocol import DevicePart
from tests.client.test_typescript import SDK, VECTORS
from tests.node import node

pytestmark = pytest.mark.slow

REPORTS = 10_000
# Those that so many reports of a value do not show for certain are shown by four times as many.
NEEDS_ALL = (
    "the own weight is too large",
    "a multiplier of 0 is left out",
    "an offset is the rest of a random number",
    "the drawn number is the rest of a byte",
    "the upper knot is taken at u = U - knot",
)
# Of `dithered` a knot, the next one, one within, a jump.
CELLS = {0, 1, 16, 40}
PARTS = {
    each["name"]: bytes.fromhex(each["device_part"])
    for each in json.loads((VECTORS / "good/sampling.json").read_text())["vectors"]
}
RESPONSE, SUBSETS, KERNEL, ORBIT = (f"{name}.ts" for name in ("randomized_response", "subsets", "kernel", "orbit"))
DIRECTIONS, DITHERED, PAIR = "directions/directions.ts", "dithered.ts", "pair.ts"
LEVEL, LABELS, PARTITIONS = (f"coarsened/{name}.ts" for name in ("level", "labels", "partitions"))
WORDS = "drawnWords(this.label, shape, coin)"
SEED = "coin.bytes(SEED_BYTES)"
SPAN = "knots[at + 1]! - knots[at]!"
# The mistake: the vector that shows it, the file, what stands there, and what stands there in its place.
MUTANTS = {
    "the raw value is sent": (
        "randomized_response", RESPONSE, "beyond < 0n ? BigInt(cell) : shifted", "BigInt(cell)"
    ),
    "another value may be the own one": (
        "randomized_response", RESPONSE, "other + BigInt(other >= BigInt(cell))",
        "drawBits(random, 62) % BigInt(this.size)",
    ),
    "the own value is left out one too late": (
        "randomized_response", RESPONSE, "other >= BigInt(cell)", "other > BigInt(cell)"
    ),
    "the own weight is too large": (
        "randomized_response", RESPONSE, "drawBits(random, this.bits) - this.ownWeight",
        "drawBits(random, this.bits) - this.ownWeight - (this.otherWeight >> 2n)",
    ),
    "the generator is hardly asked": (
        "randomized_response", "random.ts", "getRandomValues(this.pool)", "getRandomValues(this.pool.subarray(0, 512))"
    ),
    "numbers have a bit too few": ("randomized_response", "random.ts", "BigInt(64 - bits)", "BigInt(65 - bits)"),
    "the value is always in the set": (
        "subset_selection", SUBSETS, "BigInt(drawBits(random, this.bits) < this.includeWeight)", "1n"
    ),
    "the others of a set are neighbours": (
        "subset_selection", SUBSETS, "let number = Number(drawBelow(random, BigInt(last + 1)));",
        "let number = last > count - drawn ? last : Number(drawBelow(random, BigInt(last + 1)));",
    ),
    "cells above the value are not moved": (
        "subset_selection", SUBSETS, "((chosen ^ below) << 1n)", "(chosen ^ below)"
    ),
    "only the first size is drawn": (
        "subset_mixture", SUBSETS, "place(this.sizeWeights, drawBits(random, this.bits))", "0"
    ),
    "members are read from the top bit": (
        "finite_kernel_null", KERNEL, "(cell & 7)) & 1) as", "(7 - (cell & 7))) & 1) as"
    ),
    "the table is read by columns": (
        "finite_kernel_square", KERNEL, "row * this.types + cell);", "cell * this.types + row);"
    ),
    "the seed is drawn again": (
        "seeded_direction_long", DIRECTIONS, f"const seed = {SEED};",
        f"let seed = {SEED}; while (!this.isPositive(seed, cell)) seed = {SEED};",
    ),
    "the bit is never flipped": (
        "seeded_direction_long", DIRECTIONS, "Number(this.isPositive(seed, cell) === keep)",
        "Number(this.isPositive(seed, cell))",
    ),
    "the bit is reversed": ("seeded_direction_long", DIRECTIONS, "=== keep", "!== keep"),
    "words are read big-endian": (
        "seeded_direction_long", DIRECTIONS, "stretched[2 * at]! | (stretched[2 * at + 1]! << 8)",
        "stretched[2 * at + 1]! | (stretched[2 * at]! << 8)",
    ),
    "atoms have no sign": ("seeded_direction_long", DIRECTIONS, "word >> 15 ? -atom : atom", "atom"),
    "the shift is reversed": (
        "orbit_kernel", ORBIT, "codes[slot]! - cell[slot]!", "cell[slot]! - codes[slot]!"
    ),
    "slots take attributes in order only": (
        "orbit_kernel", "placements.ts", "drawn[slot] = left[chosen]!;",
        "drawn[slot] = left[chosen]!; const one = wanted[done - 1];"
        " if (one !== undefined && drawn[one]! > drawn[slot]!)"
        " [drawn[one], drawn[slot]] = [drawn[slot]!, drawn[one]!];",
    ),
    "slots take the first attributes": (
        "orbit_kernel", "placements.ts", "Number(drawBelow(random, BigInt(left.length - done)))", "0"
    ),
    "the rows of a label are read from the top": (
        "coarsened_linear", LABELS, "<< BigInt(bit)", "<< BigInt(words.length - 1 - bit)"
    ),
    "the multiplier is drawn again": (
        "coarsened_field", LEVEL, f"const words = {WORDS};",
        f"let words = {WORDS}; const at = this.partition.coordinates(codes, drawn);"
        f" while (2n * this.label.label(at, shape, words) >= this.label.count) words = {WORDS};",
    ),
    "a multiplier of 0 is left out": (
        "coarsened_field", LEVEL, f"const words = {WORDS};",
        f"let words = {WORDS}; while (words[0] === 0n) words = {WORDS};",
    ),
    "labels are sent without a shift": (
        "coarsened_field", LEVEL, "this.label.minus(label, this.drawShift(weights, random))", "label"
    ),
    "the first level is always drawn": (
        "coarsened_grids", "coarsened/coarsened.ts",
        "place(this.levels.map((level) => level.chance), drawBits(coin, CHANCE_BITS))", "0",
    ),
    "residues are combined by XOR": (
        "coarsened_grids", LABELS, "(first[at]! - second[at]! + size) % size", "(first[at]! ^ second[at]!) % size"
    ),
    "residues are added": ("coarsened_axes", LABELS, "first[at]! - second[at]! + size", "first[at]! + second[at]!"),
    "digits are subtracted as one number": (
        "coarsened_axes", LABELS, "return cellNumber(this.moduli.map((size, at) => (first",
        "if (first) return (label - shift + this.count) % this.count;\n"
        "    return cellNumber(this.moduli.map((size, at) => (first",
    ),
    "an offset is the rest of a random number": (
        "coarsened_offsets", PARTITIONS, "drawBelow(random, width)", "drawBelow(random, 256n) % width"
    ),
    "an offset is always 0": ("coarsened_offsets", PARTITIONS, "drawBelow(random, width)", "0n * width"),
    "both parts of a pair share a draw": (
        "pair_with_directions", PAIR, "return joined(first, this.second.randomizeCell(cell, random, coin));",
        "const again = this.second.randomizeCell(cell, random, coin);\n"
        "    again.set(first.subarray(0, 16)); return joined(first, again);",
    ),
    "a number is rounded to the nearest knot": (
        "dithered", DITHERED, "drawn < member - knots[at]!", f"drawn >= 0n && 2n * (member - knots[at]!) >= {SPAN}"
    ),
    "the drawn number is the rest of a byte": (
        "dithered", DITHERED, f"drawBelow(random, {SPAN})", f"drawBelow(random, 256n) % ({SPAN})"
    ),
    "the number is drawn twice": (
        "dithered", DITHERED, "BigInt(drawn < member",
        f"BigInt(drawn < member - knots[at]! || drawBelow(random, {SPAN}) < member",
    ),
    "the upper knot is taken at u = U - knot": (
        "dithered", DITHERED, "drawn < member - knots[at]!", "drawn <= member - knots[at]!"
    ),
    "a jump goes to the first of both": (
        "dithered", DITHERED, "if (at === knots.length - 1) return BigInt(at);",
        "if (at && knots[at - 1] === member) return BigInt(at - 1);\n"
        "  if (at === knots.length - 1) return BigInt(at);",
    ),
}  # fmt: skip


def verdict(root: Path, name: str, reports: int = REPORTS) -> ConformanceResult:
    """What `sordino conformance` says of the sampler in a folder, of some values and the last."""
    part = DevicePart.read(PARTS[name])
    size = part.domain.size
    (root / "part.cbor").write_bytes(PARTS[name])
    cells = sorted({cell for cell in CELLS if cell < size} | {size - 1})
    command = [str(node()), "test/sampler.ts", "part.cbor", str(reports), *map(str, cells)]
    drawn = subprocess.run(command, cwd=root, capture_output=True, check=True, env={}, timeout=600)
    return judge(part, read_samples(drawn.stdout.splitlines(), part))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The SDK's sources in a folder of the test's own."""
    shutil.copytree(SDK / "src", tmp_path / "src")
    (tmp_path / "test").mkdir()
    shutil.copy(SDK / "test/sampler.ts", tmp_path / "test")
    shutil.copy(SDK / "package.json", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PARTS)
def test_the_sampler_conforms(copied: Path, name: str) -> None:
    """A true one is refused in at most one run in a million, `false_alarm`."""
    found = verdict(copied, name)
    assert found.p > found.false_alarm, found


@pytest.mark.parametrize("mistake", MUTANTS)
def test_every_mistake_is_noticed(copied: Path, mistake: str) -> None:
    name, file, old, new = MUTANTS[mistake]
    path = copied / "src/randomizers" / file
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is in {file} {text.count(old)} times"
    path.write_text(text.replace(old, new))
    found = verdict(copied, name, REPORTS * 4 if mistake in NEEDS_ALL else REPORTS)
    assert found.outcome == "differs", (mistake, found)
