"""`sordino datasets` and `sordino release` against a running server."""

from __future__ import annotations

import math
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "curator.md").read_text(encoding="utf-8")
TERMS = """
name: flights
domain: [{name: delay, kind: ordinal, edges: [0, 15, 60], unit: min}]
unit: flight
cap: {rho: "0.05"}
"""
WORKLOAD = """
name: delays
domain: [{name: delay, kind: ordinal, edges: [0, 15, 60], unit: min}]
queries: prefix
"""
ROWS = "late,port\n" + "".join(f"{minutes},a\n" for minutes in [-5] * 400 + [5] * 300 + [30] * 200 + [90] * 100)
ADD = ("datasets", "add", "flights.csv", "--spec", "dataset.yaml", "--column", "delay=late")
RELEASE = ("release", "cdf.yaml", "--dataset", "flights")


@pytest.fixture
def operator(running: Any, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of commands that work on the running server, whose worker works all the time."""
    for name, text in (("dataset.yaml", TERMS), ("cdf.yaml", WORKLOAD), ("flights.csv", ROWS)):
        (tmp_path / name).write_text(text)
    worker = running.worker()
    thread = threading.Thread(target=worker.run)
    thread.start()
    yield {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    worker.stop.set()
    thread.join()


def test_rows_are_added_and_released_under_the_cap(run_command: Run, json_of: Run, operator: dict[str, str]) -> None:
    added = run_command(*ADD, **operator).stdout
    assert "1,000 rows; each is one flight" in added
    assert "ρ = 0.05; ρ = 0 spent" in added
    done = run_command(*RELEASE, "--rho", "0.02", "--yes", **operator)
    assert "ρ = 0.02 (ε = 0.8999 at δ = 1e-06) protects the content of one flight" in done.stderr
    assert "delay ≤ 15 min" in done.stdout
    assert "× the lower bound for unbiased releases, if every cell has a row" in " ".join(done.stdout.split())
    key = done.stderr.split("--idempotency-key ")[1].split(":")[0]
    document = json_of(*RELEASE, "--rho", "0.02", "--yes", "--idempotency-key", key, **operator)
    release = document["terms"]["release"]
    assert release in done.stdout
    assert {"lower", "band_lower", "best", "population_lower"} <= document["table"].keys()
    assert json_of("datasets", "answers", release, **operator) == document
    table = run_command("datasets", "answers", release, "--csv", **operator).stdout
    assert table.startswith("dataset,release,kind,label,")
    assert json_of("datasets", "release", release, **operator)["state"] == "released"
    written = json_of("datasets", "plan", release, "--output", "made", **operator)
    assert written["digest"] == document["extras"]["plan"]
    assert json_of("audit", "made")["holds"]
    assert release in run_command("datasets", "releases", "flights", **operator).stdout
    assert [each["rho"] for each in json_of("datasets", "ledger", "flights", **operator)["entries"]] == [0.02]
    refused = run_command(*RELEASE, "--rho", "0.04", "--yes", code=2, **operator)
    assert "0.02 is spent" in " ".join(refused.stderr.split())
    _caps_and_rows(run_command, json_of, operator)


def _caps_and_rows(run_command: Run, json_of: Run, operator: dict[str, str]) -> None:
    assert json_of("datasets", "update", "flights", "--cap", "0.2", **operator)["cap"]["rho"] == 0.2
    assert "at least what was spent" in " ".join(
        run_command("datasets", "update", "flights", "--cap", "0.01", code=2, **operator).stderr.split()
    )
    derived = json_of(*RELEASE, "--epsilon", "1", "--delta", "1e-6", "--yes", **operator)["extras"]["guarantee"]
    assert derived["rho"] == pytest.approx(0.024356, rel=1e-3)
    assert derived["epsilon"] <= 1
    assert "rows were deleted" in run_command("datasets", "delete", "flights", **operator).stdout
    assert "deleted" in run_command("datasets", "list", **operator).stdout
    assert json_of("datasets", "show", "flights", **operator)["cap"]["spent"] > 0.04
    assert "were deleted" in run_command(*RELEASE, "--rho", "0.02", "--yes", code=2, **operator).stderr


def test_a_dataset_that_counts_epsilon_takes_pure_releases(
    run_command: Run, json_of: Run, operator: dict[str, str]
) -> None:
    terms = Path("dataset.yaml").read_text(encoding="utf-8")
    Path("pure.yaml").write_text(re.sub("cap: .*", 'cap: {epsilon: "1.5"}', terms), encoding="utf-8")
    added = run_command(*ADD[:4], "pure.yaml", *ADD[5:], **operator).stdout
    assert "cap: ε = 1.5; ε = 0 spent" in added
    for wrong in (("--rho", "0.02"), ("--epsilon", "1", "--delta", "1e-6")):
        refused = run_command(*RELEASE, *wrong, "--yes", code=2, **operator)
        assert "give --epsilon alone" in " ".join(refused.stderr.split())
    done = run_command(*RELEASE, "--epsilon", "1", "--yes", **operator)
    assert "ε = 1 (pure: δ = 0) protects the content of one flight" in done.stderr
    assert "dataset flights has ε = 1.5 left of 1.5" in done.stderr
    [entry] = json_of("datasets", "ledger", "flights", **operator)["entries"]
    assert (entry["guarantee"], entry["rho"], entry["epsilon"]) == ("pure_epsilon", None, 1)
    assert "ε = 1" in run_command("datasets", "ledger", "flights", **operator).stdout
    document = json_of("datasets", "answers", entry["release"], **operator)
    assert document["extras"]["guarantee"]["kind"] == "pure_epsilon"
    assert (document["terms"]["epsilon"], document["terms"]["rho"], document["terms"]["delta"]) == (1, None, 0)
    run_command("datasets", "plan", entry["release"], "--output", "made", **operator)
    report = json_of("audit", "made")
    assert report["holds"]
    assert "ε" in {check["name"] for check in report["checks"]}
    wrong = run_command("datasets", "update", "flights", "--cap", "2", code=2, **operator)
    assert "is on ε" in " ".join(wrong.stderr.split())
    assert json_of("datasets", "update", "flights", "--cap-epsilon", "2", **operator)["cap"]["epsilon"] == 2


def test_pure_epsilon_of_a_cap_on_rho_says_what_it_takes(
    run_command: Run, json_of: Run, operator: dict[str, str]
) -> None:
    run_command(*ADD, **operator)
    refused = run_command(*RELEASE, "--epsilon", "1", "--yes", code=2, **operator)
    assert "of the cap on ρ it takes 0.462" in refused.stderr
    assert "ρ = 0.05" in " ".join(refused.stderr.split())
    asked = (*RELEASE, "--epsilon", "0.2", "--mechanism", "laplace", "--yes")
    assert json_of(*asked, **operator)["extras"]["guarantee"]["epsilon"] == 0.2
    [entry] = json_of("datasets", "ledger", "flights", **operator)["entries"]
    assert entry["rho"] == pytest.approx(0.2 * math.tanh(0.1), abs=1e-9)


@pytest.mark.parametrize(
    ("cap", "price", "mechanism"),
    [
        ('{epsilon: "1.5"}', ("--epsilon", "1"), "jl"),
        ('{rho: "0.05"}', ("--rho", "0.02"), "coarse_jl"),
        ('{epsilon: "1.5"}', ("--epsilon", "1"), "ntz"),
    ],
)
def test_a_mechanism_of_the_literature_is_released_by_its_name(
    run_command: Run, json_of: Run, operator: dict[str, str], cap: str, price: tuple[str, str], mechanism: str
) -> None:
    terms = Path("dataset.yaml").read_text(encoding="utf-8")
    Path("named.yaml").write_text(re.sub("cap: .*", f"cap: {cap}", terms), encoding="utf-8")
    run_command(*ADD[:4], "named.yaml", *ADD[5:], **operator)
    document = json_of(*RELEASE, *price, "--mechanism", mechanism, "--yes", **operator)
    # 400, 300, 200 and 100 rows: errors of a release of 1,000 rows are below .1 here.
    assert document["table"]["value"] == pytest.approx([0.4, 0.7, 0.9], abs=0.15)
    [entry] = json_of("datasets", "ledger", "flights", **operator)["entries"]
    assert entry["epsilon" if price[0] == "--epsilon" else "rho"] == float(price[1])
    run_command("datasets", "plan", entry["release"], "--output", "made", **operator)
    assert json_of("audit", "made")["holds"]
    extras, shown = document["extras"], run_command("datasets", "answers", entry["release"], **operator).stdout
    assert extras["unbiased"] is (mechanism == "ntz")
    if mechanism == "ntz":
        return
    assert document["terms"]["bias_bound"] is None
    assert not {"standard_error", "lower", "band_lower"} & document["table"].keys()
    assert document["table"]["best"] == document["table"]["value"]
    assert extras["simulated_errors"]["zipf"] < 0.2
    assert "they are biased and have no intervals" in " ".join(shown.split())
    run_command("datasets", "answers", entry["release"], "--csv", **operator)


def test_the_first_release_of_the_page_runs_as_it_is_written(
    run_command: Run, json_of: Run, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    (error,) = re.findall(r"standard error of a share is 0?(\.\d+) here", PAGE)
    monkeypatch.chdir(ROOT)
    said = [run_command(*shlex.split(line)[1:], **operator) for line in commands.splitlines()]
    assert [line for line in shown.splitlines() if line not in said[1].stderr.splitlines()] == []
    assert "ρ = 0.1; ρ = 0.02 spent" in said[2].stdout
    entry = json_of("datasets", "releases", "departures 2013", **operator)["releases"][0]
    document = json_of("datasets", "answers", entry["id"], **operator)
    assert f"{document['extras']['predicted_rmse_max']:.4f}".lstrip("0") == error
    assert document["terms"]["users"] == 10_000


def test_nothing_is_spent_without_a_yes(run_command: Run, operator: dict[str, str], json_of: Run) -> None:
    run_command(*ADD, **operator)
    run_command(*RELEASE, "--rho", "0.02", code=1, **operator)
    assert "give --yes" in run_command(*RELEASE, "--rho", "0.02", "--json", code=2, **operator).stderr
    assert "drawn from the operating system" in " ".join(
        run_command(*RELEASE, "--rho", "0.02", "--yes", "--seed", "1", code=2, **operator).stderr.split()
    )
    for wrong in ((), ("--rho", "nan", "--yes"), ("--rho", "1", "--epsilon", "1", "--yes")):
        run_command(*RELEASE, *wrong, code=2, **operator)
    assert json_of("datasets", "show", "flights", **operator)["cap"]["spent"] == 0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("dataset.yaml", TERMS.replace("name: flights", "name: flights\nrows: 3"), "rows"),
        ("dataset.yaml", TERMS + "neighbours: swap\n", "neighbours"),
        ("dataset.yaml", TERMS.replace('"0.05"', '"-1"'), "ρ must be"),
        ("flights.csv", "port\na\n", "no column 'late'"),
        ("flights.csv", "late\nsoon\n", "line 2"),
        ("flights.csv", "late\n", "no rows"),
    ],
)
def test_files_that_do_not_fit_are_refused_here(
    run_command: Run, tmp_path: Path, name: str, text: str, said: str
) -> None:
    """Without a server, which is not asked."""
    for each, written in (("dataset.yaml", TERMS), ("flights.csv", ROWS)):
        (tmp_path / each).write_text(written)
    (tmp_path / name).write_text(text)
    assert said in " ".join(run_command(*ADD, code=2).stderr.split())


def test_the_key_of_datasets_is_changed_by_a_command(
    run_command: Run, json_of: Run, running: Any, tmp_path: Path
) -> None:
    (tmp_path / "dataset.yaml").write_text(TERMS)
    (tmp_path / "flights.csv").write_text(ROWS)
    run_command(*ADD, SORDINO_SERVER=running.address, SORDINO_KEY=running.admin_key)
    old, new = running.settings.dataset_key.get_secret_value(), bytes(range(100, 132)).hex()
    files = {"new.key": new + "\n", "same.key": old, "short.key": "00", "poor.key": "00" * 32, "empty.key": ""}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    database = {"SORDINO_DATABASE_URL": str(running.database.url)}
    rotate = ("db", "rotate-dataset-key", "--new-key-file")
    for name, key, words in (
        ("new.key", None, "set SORDINO_DATASET_KEY"),
        ("same.key", old, "has the key that SORDINO_DATASET_KEY is"),
        ("short.key", old, "64 hexadecimal digits"),
        ("poor.key", old, "no random one"),
        ("empty.key", old, "has nothing"),
        ("none.key", old, "cannot be read"),
    ):
        given = database if key is None else database | {"SORDINO_DATASET_KEY": key}
        refused = run_command(*rotate, name, code=2, **given).stderr
        assert words in " ".join(refused.split()), name
        assert new not in refused
    said = run_command(*rotate, "new.key", **database, SORDINO_DATASET_KEY=old).stdout
    assert "1 dataset sealed with the new key" in said
    assert json_of(*rotate, "new.key", **database, SORDINO_DATASET_KEY=old) == {"resealed": 0, "already": 1}
