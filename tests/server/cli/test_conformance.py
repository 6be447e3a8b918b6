"""`sordino conformance`: what it reads, what it says, and its exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.vectorized.randomizers import randomize_many, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.cli import app
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened, Level, RandomizedResponse, ResidueLabel, SubsetPartition

EPSILON = PureEpsilon.of(1)
PART = DevicePart(
    Domain((Categorical("answer", ("no", "yes", "perhaps")),)), EPSILON, RandomizedResponse.for_guarantee(3, EPSILON)
)


@pytest.fixture
def device_part(tmp_path: Path) -> Path:
    path = tmp_path / "device.cbor"
    path.write_bytes(PART.content)
    return path


def run(path: Path, lines: str | bytes, *options: str, code: int) -> Any:
    result = CliRunner().invoke(app, ["conformance", str(path), *options], input=lines, env={"COLUMNS": "200"})
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


def words(text: str) -> str:
    """A message without its line breaks: how wide it is depends on who imported the console first."""
    return " ".join(text.split())


def drawn(count: int, seed: int) -> str:
    cells = np.arange(count) % 3
    payloads = randomize_many(PART.randomizer, cells, SeededRandomness(seed))
    return "".join(f"{cell} {payload.tobytes().hex()}\n" for cell, payload in zip(cells, payloads, strict=True))


def test_a_true_sampler_conforms_and_a_raw_value_does_not(device_part: Path) -> None:
    """The first fails for one seed in a million."""
    verdict = json.loads(run(device_part, drawn(150_000, 1), "--json", code=0).stdout)
    assert verdict["verdict"] == "conforms"
    assert verdict["p"] > verdict["false_alarm"] == 1e-6
    assert (verdict["reports"], verdict["values"], verdict["values_without_reports"]) == (150_000, 3, 0)
    assert "p = " in run(device_part, drawn(150_000, 1), code=0).stdout
    refused = run(device_part, "".join(f"{at % 3} 0{at % 3}\n" for at in range(60_000)), "--json", code=1)
    assert json.loads(refused.stdout)["verdict"] == "differs"
    assert "do not ship it" in words(refused.stderr)


def test_a_sampler_of_more_values_than_a_word_has_numbers_is_tested_by_a_few(tmp_path: Path) -> None:
    """The first and the last of 2^64 values; a sampler that answers for the first one whatever it holds is refused."""
    domain = Domain(tuple(Categorical(f"a{number}", ("off", "on")) for number in range(64)))
    level = Level(1 << 32, SubsetPartition((2, 2, 2)), ResidueLabel((2, 2, 2)), b"\x07")
    part = DevicePart(domain, EPSILON, Coarsened.for_guarantee(domain.shape, (level,), EPSILON))
    path = tmp_path / "settings.cbor"
    path.write_bytes(part.content)
    needed = json.loads(run(path, "", "--needed", "--json", code=0).stdout)
    assert needed["values"] == 1 << 20
    lines = {True: "", False: ""}
    for last in (0, 1):
        codes = np.full((needed["reports_a_value"], 64), last, dtype=np.uint64)
        for true in lines:
            payloads = randomize_part(part, codes if true else codes * np.uint64(0), SeededRandomness(last))
            value = ((1 << 64) - 1) * last
            lines[true] += "".join(f"{value} {payload.tobytes().hex()}\n" for payload in payloads)
    verdict = json.loads(run(path, lines[True], "--json", code=0).stdout)
    assert verdict["verdict"] == "conforms"
    assert verdict["values_without_reports"] == (1 << 64) - 2
    assert json.loads(run(path, lines[False], "--json", code=1).stdout)["verdict"] == "differs"
    assert "0 to 18446744073709551615" in words(run(path, f"{1 << 64} 00\n", code=2).stderr)


def test_too_few_reports_are_no_pass(device_part: Path) -> None:
    found = run(device_part, drawn(300, 2), code=1)
    assert "too few reports" in words(found.stderr)
    needed = json.loads(run(device_part, "", "--needed", "--json", code=0).stdout)["reports_a_value"]
    assert f"{needed} are needed" in words(found.stderr)
    assert f"{needed} reports of each of the 3 values" in run(device_part, "", "--needed", code=0).stdout


def test_values_without_a_report_are_named(device_part: Path) -> None:
    lines = drawn(150_000, 3).replace("2 ", "1 ")
    assert "1 of 3 values have no report" in run(device_part, lines, code=1).stdout


def test_a_payload_that_no_value_gives_is_named_with_its_line(device_part: Path) -> None:
    found = run(device_part, "0 00\n\n1 03\n", code=1)
    assert "line 3, value 1: 03 is a payload that no value gives" in words(found.stderr)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "there are no lines to test"),
        ("\n \n", "there are no lines to test"),
        ("0 00\n0\n", "line 2 ('0'): a line has two words"),
        ("0 00 00\n", "line 1 ('0 00 00'): a line has two words"),
        ("3 00\n", "line 1 ('3 00'): VALUE must be the number of a cell, 0 to 2"),
        ("-1 00\n", "VALUE must be the number of a cell"),
        ("²  00\n", "VALUE must be the number of a cell"),
        ("9" * 5000 + " 00\n", "VALUE must be the number of a cell"),
        ("0 0\n", "PAYLOAD must be written in hexadecimal digits"),
        ("0 zz\n", "PAYLOAD must be written in hexadecimal digits"),
        ("0 0001\n", "PAYLOAD has 2 bytes, those of this device part have 1"),
        (b"0 \xff\xff\n", "PAYLOAD must be written in hexadecimal digits"),
    ],
)
def test_a_bad_line_is_named(device_part: Path, lines: str | bytes, said: str) -> None:
    assert said in words(run(device_part, lines, code=2).stderr)


def test_what_is_no_device_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.cbor").write_bytes(b"{}")
    assert "is not a device part" in words(run(tmp_path / "other.cbor", "0 00\n", code=2).stderr)
    assert "No such file" in words(run(tmp_path / "absent.cbor", "0 00\n", code=1).stderr)


# Randomized response in the standard library alone, which starts in 20 ms.
SAMPLER = """
import random, sys
kind, bits, other, value = sys.argv[1], *map(int, sys.argv[2:])
draw = (random.SystemRandom() if kind == "fresh" else random.Random(7)).getrandbits(bits)
rank = draw // other
print(value, format(value if rank > 1 else rank + (rank >= value), "02x"))
"""


@pytest.fixture
def sampler(tmp_path: Path) -> Callable[[str], list[str]]:
    """The command of a sampler that draws one report of its last argument."""
    program, law = tmp_path / "sampler.py", PART.randomizer
    program.write_text(SAMPLER)
    assert isinstance(law, RandomizedResponse)
    terms = [str(law.bits), str(law.other_weight)]
    return lambda kind: ["--", sys.executable, "-I", "-S", str(program), kind, *terms]


def test_a_sampler_that_begins_with_one_state_is_refused_by_its_starts(
    device_part: Path, sampler: Callable[[str], list[str]]
) -> None:
    """In one process it draws as it should. A true sampler is refused with chance 10⁻³ here."""
    terms = ("--json", "--false-alarm", "0.001")
    refused = run(device_part, "", "--fresh", "80", *terms, *sampler("stuck"), code=1)
    assert json.loads(refused.stdout)["verdict"] == "differs"
    honest = json.loads(run(device_part, "", "--fresh", "80", *terms, *sampler("fresh"), code=0).stdout)
    assert (honest["verdict"], honest["reports"], honest["values"]) == ("conforms", 80, 2)
    assert 4 < honest["reports_of_a_value_needed"] <= 40
    few = run(device_part, "", "--fresh", "4", *terms, *sampler("stuck"), code=1)
    assert "too few reports to detect a sampler that starts with the same randomness" in words(few.stderr)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("print(1, '00')", "not the one line `0 PAYLOAD`"),
        ("print(0, '00'); print(0, '00')", "prints 2 lines"),
        ("", "prints 0 lines"),
        ("raise SystemExit('no such part')", "ends with code 1: no such part"),
        ("import sys; print(sys.argv[-1], '0000')", "line 1 ('0 0000'): PAYLOAD has 2 bytes"),
    ],
)
def test_a_sampler_that_prints_something_else_is_told(device_part: Path, program: str, said: str) -> None:
    asked = ("--fresh", "2", "--", sys.executable, "-c", program)
    assert said in words(run(device_part, "", *asked, code=2).stderr)


def test_starts_and_a_sampler_belong_together(device_part: Path) -> None:
    for options in (("--fresh", "2"), ("--", "sampler")):
        assert "belong together" in words(run(device_part, "0 00", *options, code=2).stderr)
    assert "cannot be started" in words(run(device_part, "", "--fresh", "2", "--", "/no/such", code=2).stderr)
