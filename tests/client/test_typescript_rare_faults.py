"""Mistakes of the TypeScript SDK's samplers that no counting sees: a generator that both SDKs share shows them.

`sordino conformance` counts. A raw value in one report of a thousand moves no count by much, and the first report of a
process is one of many, unless each report has a process of its own (`--fresh`). So both SDKs draw 3,000 reports from
one stream of bytes here, and have to send the same.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from sordino_shared.protocol import DevicePart
from sordino_shared.randomness import ShakeRandomness
from tests.client.test_typescript import SDK, vectors
from tests.node import node
from tests.patience import PATIENCE_S

REPORTS = 3_000
FRESH = 60
PARTS = {each["name"]: bytes.fromhex(each["device_part"]) for each in vectors("good/sampling")}


class Place(NamedTuple):
    """Where a sampler decides for or against the value, and a seed whose first report is against it."""

    file: str
    decision: str
    seed: int


PLACES = {
    "randomized_response": Place("randomized_response.ts", "beyond < 0n", 0),
    "subset_selection": Place("subsets.ts", "drawBits(random, this.bits) < this.includeWeight", 4),
    "seeded_direction": Place(
        "directions/directions.ts", "drawBits(random, this.bits) < this.keepWeights.word(cell)", 5
    ),
}
# In which reports the decision is for the value, whatever was drawn.
WHEN = {
    "a raw value once in 1,000 reports": "++reports % 1000 === 0",
    "the first report of a process": "++reports === 1",
}
# One of each in `make test`.
SLOW = [each for each in PLACES if each != "randomized_response"]
SOME = ["randomized_response", *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The SDK's sources in a folder of the test's own, and what draws with them."""
    shutil.copytree(SDK / "src", tmp_path / "src")
    shutil.copytree(SDK / "test", tmp_path / "test")
    shutil.copy(SDK / "package.json", tmp_path)
    return tmp_path


def break_sampler(root: Path, name: str, when: str) -> None:
    """Makes the mistake in the copy; it asks the generator for the same bytes as before."""
    file, decision, _ = PLACES[name]
    path = root / "src/randomizers" / file
    text = path.read_text()
    assert text.count(decision) == 1, f"{decision!r} is in {file} {text.count(decision)} times"
    path.write_text(text.replace(decision, f"[{decision}, {WHEN[when]}].some(Boolean)") + "let reports = 0;\n")


def differing(root: Path, name: str) -> list[int]:
    """Which of the 3,000 reports are not those of the Python SDK."""
    content, seed = PARTS[name], PLACES[name].seed
    part, chosen, stream = DevicePart.read(content), random.Random(seed), ShakeRandomness(seed)
    values = [[chosen.randrange(size) for size in part.domain.shape] for _ in range(REPORTS)]
    expected = [part.randomize(codes, stream).hex() for codes in values]
    line = json.dumps({"part": content.hex(), "seed": seed, "values": [[*map(str, codes)] for codes in values]})
    command = [str(node()), "test/draws.ts"]
    done = subprocess.run(
        command, cwd=root, input=line, capture_output=True, text=True, check=True, env={}, timeout=PATIENCE_S
    )
    _, *drawn = json.loads(done.stdout)
    return [at for at, (mine, other) in enumerate(zip(drawn, expected, strict=True)) if mine != other]


@pytest.mark.parametrize("name", SOME)
def test_3000_reports_of_one_stream_are_those_of_the_python_sdk(name: str) -> None:
    assert differing(SDK, name) == []


@pytest.mark.parametrize("name", SOME)
def test_a_rare_raw_value_is_noticed(copied: Path, name: str) -> None:
    break_sampler(copied, name, "a raw value once in 1,000 reports")
    found = differing(copied, name)
    assert found, "no report differs"
    # A sampler that asks for another number of bytes afterwards differs for a while.
    assert found[0] % 1000 == 999


@pytest.mark.parametrize("name", SOME)
def test_the_first_report_of_a_process_is_noticed(copied: Path, name: str) -> None:
    break_sampler(copied, name, "the first report of a process")
    assert differing(copied, name)[:1] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ["conforms", "differs"])
def test_reports_of_fresh_processes_are_counted(copied: Path, verdict: str) -> None:
    """A true sampler is refused in one run of a million; the other one sends nothing but raw values here."""
    if verdict == "differs":
        break_sampler(copied, "randomized_response", "the first report of a process")
    part = copied / "part.cbor"
    part.write_bytes(PARTS["randomized_response"])
    sampler = [str(node()), str(copied / "test/sampler.ts"), str(part)]
    terms = ["--fresh", str(FRESH), "--json"]
    command = [sys.executable, "-m", "sordino_server", "conformance", str(part), *terms, "--", *sampler]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["reports"], done.returncode) == (verdict, FRESH, int(verdict == "differs"))
