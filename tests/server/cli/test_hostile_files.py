"""Files that nobody meant well, or that broke on the way: one line says what is wrong, and nothing is a traceback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.linear.yaml_text import parse_yaml
from sordino_server.cli import app
from tests.hostile_http import answers, hostile_servers

DOMAIN = "name: x\ndomain: [{name: v, kind: ordinal, edges: [1, 2]}]\n"
LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
MERGES = "a: &a {x: 1}\nb: {<<: [*a, *a]}\n"

# A file, and what the one line says of it.
YAML = {
    "nested 20,000 deep": ("[" * 20_000 + "]" * 20_000, "nested more than 32 deep (line 1, column 33)"),
    "nested in blocks": ("".join("  " * each + "a:\n" for each in range(40)), "nested more than 32 deep"),
    "nested and cut off": ("{a: " * 20_000, "nested more than 32 deep"),
    "an impossible date": ("name: 2026-13-45\n", "'2026-13-45' is a date to YAML: put quotes around it (line 1"),
    "a possible date": ("name: 2026-11-22\n", "'2026-11-22' is a date to YAML"),
    "a time before time": ("name: 0001-01-01 00:00:00 +23:59\n", "is a date to YAML"),
    "aliases of aliases": (LAUGHS, "anchors and aliases are not read"),
    "merges": (MERGES, "anchors and aliases are not read"),
    "a list in itself": ("&a [*a]", "anchors and aliases are not read"),
    "an alias of nothing": ("name: *gone", "anchors and aliases are not read"),
    "a tag of Python": ("name: !!python/object/apply:os.system [ls]", "the tag tag:yaml.org,2002:python/object/apply"),
    "a tag that does not fit": ("name: !!timestamp never", "the tag tag:yaml.org,2002:timestamp is not read"),
    "a tag of its own": ("name: !mine x", "the tag !mine is not read"),
    "a number of no digits": ("name: 0b_", "a number cannot be read"),
    "a number of many digits": ("name: " + "9" * 5000, "a number cannot be read"),
    "a mapping as a key": ("{a: b}: c", "hashable"),
    "numbers as keys": (DOMAIN + "1: 2\n", "either queries or a statistic"),
    "two documents": ("name: a\n---\nname: b\n", "another document"),
    "no document": ("", "must hold a mapping"),
    "a comment only": ("# nothing\n", "must hold a mapping"),
    "a text only": ("name", "must hold a mapping"),
    "a value key": ("=", "could not determine a constructor"),
    "not closed": ("name: [a, b", "expected ',' or ']'"),
    "a tabulator": ("name:\n\t- a", "found character"),
    "a control character": ("name: \x01", "control characters are not allowed"),
    "NUL": ("name: a\0b", "control characters are not allowed"),
    "a directive of another YAML": ("%YAML 3.0\n---\nname: a\n", "incompatible"),
    "a file name with NUL": (DOMAIN + 'queries: {file: "a\\0b.csv"}', "no name of a file"),
    "a file name of half a character": (json.dumps({"queries": {"file": "\ud800.csv"}}), "no name of a file"),
    "JSON nested 20,000 deep": ('{"a":' * 20_000 + "1" + "}" * 20_000, "nested more than 32 deep"),
    "JSON cut off": ('{"name": "x", "domain": [', "it is no YAML: did not find"),
    "JSON with a number of many digits": ('{"name": ' + "9" * 5000 + "}", "a number cannot be read"),
    "JSON of infinities": ('{"name": "x", "domain": [{"name": "v", "kind": "ordinal", "edges": [1e999]}]}', "either"),
}
BYTES = {
    "not UTF-8": (b"name: \xff\xfe", "can't decode byte"),
    "UTF-16": ("name: x".encode("utf-16"), "can't decode byte"),
    "half a character": ("name: ε".encode()[:-1], "can't decode byte"),
    "too large": (b"#" * ((16 << 20) + 1), "more than 16 MiB"),
}


@pytest.fixture
def refused(run_command: Callable[..., Any]) -> Callable[..., str]:
    """What `sordino plan` says of workload.yaml in its one line."""

    def say(*arguments: str) -> str:
        asked = arguments or ("plan", "--file", "workload.yaml", "--epsilon", "1")
        done = run_command(*asked, code=2, COLUMNS="100000")
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
        assert len(line) < 1000
        return str(line)

    return say


@pytest.mark.parametrize(("text", "told"), YAML.values(), ids=YAML.keys())
def test_hostile_yaml(refused: Callable[..., str], tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "workload.yaml").write_text(text, encoding="utf-8")
    assert told in refused()


@pytest.mark.parametrize(("content", "told"), BYTES.values(), ids=BYTES.keys())
def test_what_is_no_text(refused: Callable[..., str], tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "workload.yaml").write_bytes(content)
    assert told in refused()


def test_a_folder_is_no_workload(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").mkdir()
    assert "Is a directory" in refused()


def a_million(ending: str) -> str:
    labels = [f"l{number}" for number in range(10**6)]
    document = {"name": "x", "domain": [{"name": "v", "kind": "categorical", "labels": labels}], "queries": "histogram"}
    if ending == "json":
        return json.dumps(document)
    return f"name: x\ndomain: [{{name: v, kind: categorical, labels: [{', '.join(labels)}]}}]\nqueries: histogram\n"


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_million_labels_are_refused_soon(refused: Callable[..., str], tmp_path: Path, ending: str) -> None:
    (tmp_path / "workload.yaml").write_text(a_million(ending))
    refused("plan", "--file", "absent.yaml", "--epsilon", "1")
    began = time.process_time()
    said = refused()
    # 0.7 s on a quiet machine; other machines, and caches shared with other processes, cost several times as much.
    assert time.process_time() - began < 4.0
    assert "more than 589824 values" in said if ending == "yaml" else "at most 524288" in said


def test_dates_and_tags_in_quotes_are_texts() -> None:
    assert parse_yaml("['2026-13-45', \"2026-11-22\", '!!int']") == ["2026-13-45", "2026-11-22", "!!int"]
    assert parse_yaml("[1e-5, 1E3, -2, 0x10, true, null, ~, no, é, '', ]") == [
        1e-5, 1e3, -2, 16, True, None, None, False, "é", "",
    ]  # fmt: skip


def test_the_deepest_that_is_read() -> None:
    assert parse_yaml("[" * 32 + "]" * 32) is not None
    with pytest.raises(WorkloadError, match="deep"):
        parse_yaml("[" * 33 + "]" * 33)


def test_without_libyaml_the_same_is_read() -> None:
    """PyYAML may be built without it; both of its readers then refuse alike."""

    script = (
        "import yaml; del yaml.CSafeLoader\n"
        "from sordino_analysis.questions.linear.yaml_text import parse_yaml, _Loader\n"
        "assert issubclass(_Loader, yaml.SafeLoader)\n"
        "assert parse_yaml('[1e-5, a]') == [1e-5, 'a']\n"
        "for text in ('[' * 20000, '2026-13-45', '&a [*a]', '!!int x', 'a\\0'):\n"
        "    try: parse_yaml(text)\n"
        "    except ValueError as error: assert '\\n' not in str(error), error\n"
        "    else: raise AssertionError(text)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# What a matrix may be beside a workload, and what the one line says of it.
def npy(header: str, data: bytes = b"") -> bytes:
    """A file in NPY's format 1.0 with any header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


MATRICES = {
    "csv of NUL": ("m.csv", b"1,\0,0\n", "no number"),
    "csv of other bytes": ("m.csv", b"\xff\xfe1,0,0\n", "can't decode byte"),
    "csv that is empty": ("m.csv", b"", "no rows of numbers"),
    "csv of one huge cell": ("m.csv", b"1," + b"9" * 200_000 + b",0\n", "field larger"),
    "csv of a huge row": ("m.csv", b"1," * 50_000 + b"1\n", "one entry for each of the 3 cells"),
    "csv of infinities": ("m.csv", b"inf,0,0\n", "finite"),
    "csv with a quote left open": ("m.csv", b'"1,0,0\n1,0,0\n', "no rows of numbers"),
    "npy that is empty": ("m.npy", b"", "cannot read the matrix"),
    "npy that is none": ("m.npy", b"1,0,0\n", "cannot read the matrix"),
    "npy that is a zip": ("m.npy", b"PK\x03\x04" + bytes(40), "cannot read the matrix"),
    "npy cut off": ("m.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", bytes(40)), "cannot"),
    "npy of more than there is": (
        "m.npy",
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }"),
        "cannot read the matrix",
    ),
    "npy of a negative shape": ("m.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3), }"), "m.npy"),
    "npy of a shape beyond integers": (
        "m.npy",
        npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 3), }}"),
        "cannot read the matrix",
    ),
    "npy of objects": ("m.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 3), }", bytes(24)), "m.npy"),
    "npy of a wrong type": ("m.npy", npy("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1, 3), }"), "m.npy"),
    "npy of no header": ("m.npy", npy("(" * 500), "cannot read the matrix"),
}


@pytest.mark.parametrize(("name", "content", "told"), MATRICES.values(), ids=MATRICES.keys())
def test_hostile_matrices(refused: Callable[..., str], tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "workload.yaml").write_text(f"{DOMAIN}queries: {{file: {name}}}\n")
    assert told in refused()


@pytest.mark.parametrize("name", ["m.csv", "m.npy"])
def test_a_folder_is_no_matrix(refused: Callable[..., str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "workload.yaml").write_text(f"{DOMAIN}queries: {{file: {name}}}\n")
    assert "Is a directory" in refused()


PARTS = {
    "empty": b"",
    "NUL": bytes(10),
    "no text": b"\xff\xfe\xfd",
    "a brace": b"{",
    "JSON nested 20,000 deep": b'{"a":' * 20_000,
    "CBOR nested 20,000 deep": b"\x81" * 20_000,
    "CBOR of 2^64 items": b"\x9b" + b"\xff" * 8,
    "CBOR of a text of 4 GiB": b"\x7b\x00\x00\x00\x00\xff\xff\xff\xff",
    "digests that are none": b'{"digests": 3}',
}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four files of a plan for a statistic."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "gini.yaml").write_text(
        "name: g\ndomain: [{name: c, kind: categorical, labels: [a, b, c]}]\nstatistic: {kind: gini_diversity}\n"
    )
    terms = ("--epsilon", "1", "--users", "1000", "--effort", "quick", "--protocol", "one_round", "--no-cache")
    asked = ["plan", "--file", str(folder / "gini.yaml"), *terms, "--output", str(folder / "plan")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    return folder / "plan"


@pytest.mark.parametrize("content", [*PARTS.values(), None], ids=[*PARTS.keys(), "cut off"])
@pytest.mark.parametrize("name", ["device.cbor", "analyst.cbor", "protocol.json", "plan.json"])
def test_hostile_plan_files(
    refused: Callable[..., str], planned: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    shutil.copytree(planned, tmp_path / "plan")
    whole = (planned / name).read_bytes()
    (tmp_path / "plan" / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    assert name in refused("audit", "plan")
    if name == "device.cbor":
        assert name in refused("conformance", "plan/device.cbor")


TABLES = {
    "empty": (b"", "is empty"),
    "a header alone": (b"a\n", "no rows below its header"),
    "no UTF-8": (b"a\n\xff\n", "cannot be read as CSV in UTF-8"),
    "a huge cell": (b"a\n" + b"9" * 200_000 + b"\n", "field larger"),
    "a name twice": (b"a,a\n1,2\n", "more than one column 'a'"),
    "another column": (b"b\n1\n", "no column 'a'"),
    "NUL in the header": (b"a\0\n1\n", "no column 'a'"),
    "rows of other lengths": (b"a,b\n1\n", "line 2 has 1 fields"),
    "numbers as large as they come": (b"a\n1e308\n-1e308\n", "cannot be cut"),
    "one number": (b"a\n5\n5\n", "cannot be cut"),
    "too many words": (b"a\n" + b"\n".join(b"x%d" % each for each in range(300)), "300 different values"),
    "control characters": (b"a\nx\x07\ny\n", "control"),
}


@pytest.mark.parametrize(("content", "told"), TABLES.values(), ids=TABLES.keys())
def test_hostile_tables(refused: Callable[..., str], tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    assert told in refused("simulate", "--csv", "table.csv", "--column", "a")


NO_PLAN = {
    "no number": ("--time-limit", "nan", "time_limit: Input should be a finite number"),
    "no end": ("--time-limit", "inf", "time_limit: Input should be a finite number"),
    "no time": ("--time-limit", "0", "time_limit: Input should be greater than 0"),
    "two days": ("--time-limit", "172800", "time_limit: Input should be less than or equal to 86400"),
    "a long seed": ("--seed", "9" * 23, "seed: Input should be less than 9223372036854775808"),
}


@pytest.mark.parametrize(("option", "value", "told"), NO_PLAN.values(), ids=NO_PLAN.keys())
def test_options_that_no_plan_has_start_no_server(
    refused: Callable[..., str], tmp_path: Path, option: str, value: str, told: str
) -> None:
    (tmp_path / "table.csv").write_text("a\n1\n2\n")
    assert refused("simulate", "--csv", "table.csv", "--column", "a", option, value) == f"error: {told}"


@pytest.mark.parametrize("question", [(), ("--statistic", "kendall")])
def test_a_demo_refuses_a_long_seed_before_it_starts_a_server(
    refused: Callable[..., str], question: tuple[str, ...]
) -> None:
    said = refused("demo", "--users", "500", *question, "--seed", "9" * 23)
    assert said == "error: seed: Input should be less than 9223372036854775808"


def test_a_demo_has_no_negative_seed(run_command: Callable[..., Any]) -> None:
    assert "--seed" in run_command("demo", "--seed", "-1", code=2).stderr


def test_as_many_bins_as_no_domain_has(refused: Callable[..., str]) -> None:
    said = refused("plan", "--workload", "prefix", "--size", "99999999999", "--epsilon", "1")
    assert "at most 4294967296 can be planned" in said


@pytest.mark.parametrize("answer", [b"<html>", b"", b"[" * 100_000, b"\xff"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_server_that_is_another(run_command: Callable[..., Any], answer: bytes, status: int) -> None:
    with hostile_servers() as start:
        address = start(answers(answer, status=f"{status} X\r\nContent-Type: application/problem+json"))
        asked = ("campaigns", "list", "--server", address, "--key", "k")
        assert "is it a sordino server?" in run_command(*asked, code=2, COLUMNS="1000").stderr


def test_an_address_that_is_none(refused: Callable[..., str]) -> None:
    assert "address cannot be read" in refused("campaigns", "list", "--server", "http://\x07", "--key", "k")


def test_a_matrix_in_fortran_order_is_read(json_of: Callable[..., Any], tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.asfortranarray([[1.0, 0, 0], [1, 1, 0]]))
    (tmp_path / "workload.yaml").write_text(f"{DOMAIN}queries: {{file: m.npy}}\n")
    summary = json_of("plan", "--file", "workload.yaml", "--epsilon", "1", "--mechanism", "factorization")
    assert summary["queries"] == 2
