"""The TypeScript SDK in node: its own tests, and the same verdicts and draws as here."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sordino_shared.audit import check_guarantee
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.campaigns import Manifest, Task
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.finding import ManifestSignatures, OpenCampaigns
from sordino_shared.protocol.log_entries import LogEntry
from sordino_shared.protocol.reports import ReportBatch, ReportOutcomes
from sordino_shared.protocol.sealed import SealedOutcomes, SealedReports
from sordino_shared.protocol.tokens import TokenEvaluations, TokenRequest
from sordino_shared.randomness import ShakeRandomness
from tests.node import node, npm
from tests.patience import PATIENCE_S

SDK = Path(__file__).parents[2] / "client" / "typescript"
VECTORS = Path(__file__).parents[1] / "vectors" / "v1"
# Every document that a device reads.
TYPES: dict[str, type[Document]] = {
    each.document: each
    for each in (
        Manifest, Task, DevicePart, OpenCampaigns, ManifestSignatures, ReportBatch, ReportOutcomes, SealedReports,
        SealedOutcomes, LogEntry, TokenRequest, TokenEvaluations,
    )
}  # fmt: skip
DRAWS = 12


def run(*arguments: str, given: str = "") -> str:
    """What node prints; the error of a failed run shows what it said."""
    command = [str(node()), *arguments]
    done = subprocess.run(command, cwd=SDK, input=given, capture_output=True, text=True, timeout=PATIENCE_S, env={})
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def vectors(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{file}.json").read_text())["vectors"]
    return found


def test_its_own_tests_pass() -> None:
    said = run("--test", "--test-isolation=none", *(str(path) for path in sorted(SDK.glob("test/*.test.ts"))))
    assert re.search(r"fail 0$", said, flags=re.MULTILINE), said


def test_the_same_bytes_give_the_same_payloads() -> None:
    """Of every kind of randomizer, and for a value of every attribute's ends."""
    parts = [bytes.fromhex(each["hex"]) for each in vectors("good/device_part")]
    parts += [bytes.fromhex(each["device_part"]) for each in vectors("good/sampling")]
    lines, expected = [], []
    for seed, content in enumerate(parts):
        part, chosen = DevicePart.read(content), random.Random(seed)
        values = [[0] * len(part.domain.shape), [size - 1 for size in part.domain.shape]]
        values += [[chosen.randrange(size) for size in part.domain.shape] for _ in range(DRAWS)]
        stream = ShakeRandomness(seed)
        payloads = [part.randomize(codes, stream).hex() for codes in values]
        lines.append(json.dumps({"part": content.hex(), "seed": seed, "values": [[*map(str, v)] for v in values]}))
        expected.append([str(check_guarantee(part).nano), *payloads])
    assert [json.loads(line) for line in run("test/draws.ts", given="\n".join(lines)).splitlines()] == expected


@pytest.mark.slow
def test_the_package_has_the_built_code_alone(tmp_path: Path) -> None:
    if not (SDK / "node_modules").is_dir():
        pytest.skip("TypeScript is missing: npm ci in client/typescript")
    copied = tmp_path / "package"
    shutil.copytree(SDK, copied, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copied / "node_modules").symlink_to(SDK / "node_modules")
    command = [str(node()), str(npm()), "pack", "--dry-run", "--json", "--offline"]
    environment = {"PATH": f"{node().parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=copied, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode == 0, done.stderr
    [packed] = json.loads(done.stdout[done.stdout.index("[\n") :])
    names = {each["path"] for each in packed["files"]}
    assert {name.partition("/")[0] for name in names} == {"dist", "package.json", "README.md", "LICENSE"}
    assert {"dist/index.js", "dist/index.d.ts", "dist/node.js", "dist/all.js", "dist/ledger_contract.js"} <= names


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutated_documents_get_the_same_verdict(count: int) -> None:
    good = [(name, bytes.fromhex(each["hex"])) for name in TYPES for each in vectors(f"good/{name}")]
    chosen = random.Random(38)
    tried = [(name, mutated(content, chosen)) for name, content in chosen.choices(good, k=count)]
    said = run("test/judged.ts", given="\n".join(f"{name} {content.hex()}" for name, content in tried)).splitlines()
    verdicts = [verdict(name, content) for name, content in tried]
    differ = [
        (name, content.hex(), a, b) for (name, content), a, b in zip(tried, said, verdicts, strict=True) if a != b
    ]
    assert not differ, differ[:3]
    assert 0 < verdicts.count("ok") < count


def mutated(content: bytes, chosen: random.Random) -> bytes:
    """One step away from a good document: a bit, a byte, a piece that is lost, doubled or moved."""
    changed, at = bytearray(content), chosen.randrange(len(content))
    match chosen.randrange(5):
        case 0:
            changed[at] ^= 1 << chosen.randrange(8)
        case 1:
            changed[at] = chosen.randrange(256)
        case 2:
            # The low bits of a head or of a number.
            changed[at] = changed[at] + 1 & 0xFF
        case 3:
            del changed[at : at + chosen.choice((1, 2, 8))]
        case 4:
            changed[at:at] = changed[at : at + chosen.choice((1, 2, 8))]
    return bytes(changed)


def verdict(name: str, content: bytes) -> str:
    """`ok`, or the name of the error."""
    try:
        document = TYPES[name].read(content)
        if isinstance(document, DevicePart):
            check_guarantee(document)
    except SordinoError as error:
        return type(error).__name__
    return "ok"
