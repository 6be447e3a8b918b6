"""`sordino demo`, small: the same server process, plan, devices and estimates as the large one."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from tests.patience import PATIENCE_S

PROMISED = [
    *("users", "epsilon", "workload", "mechanism", "max_abs_error", "predicted_rmse_max", "interval_coverage"),
    *("band_holds", "reports_per_second", "seconds", "chart"),
]
APPS = 10
COMMAND = (sys.executable, "-m", "sordino_server", "demo")


def environment(folder: Path) -> dict[str, str]:
    """No settings of the person who runs the tests, and temporary files where they can be counted."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    (folder / "tmp").mkdir()
    return kept | {"TMPDIR": str(folder / "tmp"), "COLUMNS": "80"}


def run_demo(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The finished command, run in `folder`."""
    settings = environment(folder)
    return subprocess.run(
        [*COMMAND, *options], cwd=folder, env=settings, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def processes_in(folder: Path) -> list[str]:
    """Processes that still work in `folder` or below it."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            place = link.readlink()
        except OSError:
            continue
        if place.is_relative_to(folder):
            found.append(str(link))
    return found


def await_no_processes_in(folder: Path) -> None:
    """Processes end by themselves once their pipes are closed, on a busy machine some time after the command."""
    deadline = time.monotonic() + PATIENCE_S
    while processes_in(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not processes_in(folder)


@pytest.fixture(scope="module")
def histogram(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The command in this process, with fewer apps than it has otherwise; one of its own comes below."""
    folder = tmp_path_factory.mktemp("histogram")
    settings = environment(folder)
    options = ["--users", "1500", "--workload", "histogram", "--bins", "8", "--epsilon", "2", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sordino_server.cli.demo.APPS", APPS)
        patch.setattr(tempfile, "tempdir", settings["TMPDIR"])
        patch.chdir(folder)
        done = CliRunner(env=settings).invoke(app, ["demo", *options])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), folder


def test_prints_one_object_with_what_is_promised(histogram: tuple[dict[str, Any], Path]) -> None:
    result, _ = histogram
    assert set(PROMISED) <= set(result)
    assert (result["users"], result["epsilon"], result["workload"], result["bins"]) == (1500, 2.0, "histogram", 8)
    assert (result["apps"], result["fleet"]) == (APPS, 1500 - APPS)
    assert result["plan"]["ratio_max"] >= 1.0
    assert result["reports_per_second"] > 0


def test_the_estimates_are_as_near_as_predicted(histogram: tuple[dict[str, Any], Path]) -> None:
    """The largest of 8 errors is beyond 5 predicted standard deviations in fewer than 1 of 200,000 runs."""
    result, _ = histogram
    assert 0.0 < result["max_abs_error"] < 5 * result["predicted_rmse_max"]
    assert result["rms_error"] <= result["max_abs_error"]
    answers = result["answers"]
    assert max(abs(each["value"] - each["truth"]) for each in answers) == result["max_abs_error"]
    inside = [each["lower"] <= each["truth"] <= each["upper"] for each in answers]
    assert sum(inside) / 8 == result["interval_coverage"]
    assert result["predicted_rmse_max"] < 0.1


def test_the_chart_is_where_it_says_and_shows_every_bin(histogram: tuple[dict[str, Any], Path]) -> None:
    result, folder = histogram
    assert Path(result["chart"]) == (folder / "sordino-demo.svg").resolve()
    circles = ET.parse(result["chart"]).getroot().iter("{http://www.w3.org/2000/svg}circle")
    assert len(list(circles)) == 2 * 8


def test_nothing_stays_behind(histogram: tuple[dict[str, Any], Path]) -> None:
    result, folder = histogram
    assert result["kept"] is None
    assert not list((folder / "tmp").iterdir())
    await_no_processes_in(folder)


def test_keeps_everything_when_asked_and_prints_a_table(tmp_path: Path) -> None:
    options = ["--users", "40", "--workload", "ranges", "--bins", "4", "--keep", "--chart", "curve.svg"]
    done = run_demo(tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert lines_but_for_numbers(done.stdout)[: len(PAGE_SHOWS)] == PAGE_SHOWS
    (kept,) = (tmp_path / "tmp").iterdir()
    assert str(kept) in "".join(done.stdout.split())
    assert len(list((kept / "ledgers").iterdir())) == 40
    estimates = json.loads((kept / "estimates.json").read_text())
    with (kept / "estimates.csv").open() as stream:
        assert len(list(csv.reader(stream))) == len(estimates["table"]["label"]) + 1
    # Of ten ranges over four bins one is constant; three start at the first bin and are drawn as the CDF.
    assert len(estimates["table"]["label"]) == 9
    assert (tmp_path / "curve.svg").read_text().count("<circle") == 2 * 3


def lines_but_for_numbers(printed: str) -> list[str]:
    """The header, the line below the answers, and the facts; of the band only the name, since it may be missed."""
    lines = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    kept = [line for line in lines if not re.search(r"(yes|no)$", line)]
    plain = [re.sub(r"(?<=mechanism )\w+", "NAME", re.sub(r"\d[\d.]*", "N", line)) for line in kept]
    return ["band" if line.startswith("band ") else line for line in plain]


(PAGE_BLOCK,) = re.findall(
    r"^```\n(query .*?)^```$",
    (Path(__file__).parents[3] / "docs" / "quickstart.md").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)
PAGE_SHOWS = lines_but_for_numbers(PAGE_BLOCK)


def test_sigterm_stops_the_server_and_removes_the_folder(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--users", "2000", "--bins", "8"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith("planning"):
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert not list((tmp_path / "tmp").iterdir())
    await_no_processes_in(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--users", "1"], "2 to 10,000,000 devices"),
        (["--epsilon", "0"], "ε must be above 0"),
        (["--epsilon", "17"], "from 0.001 to 16"),
        (["--epsilon", "nan"], "finite"),
        (["--bins", "1"], "2 to 240 bins"),
        (["--chart", "no/such/folder/chart.svg"], "cannot be written"),
        (["--workload", "median"], "histogram"),
        (["--statistic", "gini", "--bins", "7", "--mechanism", "x"], "leave out --bins, --mechanism, --chart"),
        (["--statistic", "gini", "--workload", "prefix"], "leave out --workload, --chart"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(options: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["demo", "--chart", str(tmp_path / "c.svg"), *options])
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")


def test_an_unknown_mechanism_is_refused_by_the_server_with_the_known_ones(tmp_path: Path) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["demo", "--users", "100", "--mechanism", "magic", "--chart", str(tmp_path / "c.svg")]
    )
    assert done.exit_code == 2
    assert "'magic'" in done.output
    assert "randomized_response" in done.output.replace("\n", "")


@pytest.mark.slow
def test_a_statistic_of_flights_has_both_truths_beside_it() -> None:
    """The carriers are labels, so bins lose nothing; six times the predicted error is one false alarm in 10^8."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["demo", "--statistic", "gini", "--users", "2000", "--epsilon", "2", "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["truth"] == pytest.approx(found["raw_truth"])
    assert found["error"] < 6 * found["predicted_rmse"]
    assert found["apps"] + found["fleet"] == sum(each["users"] for each in found["rounds"])


@pytest.mark.slow
def test_rules_about_real_flights_are_stated_truly(tmp_path: Path) -> None:
    """A statement at 95 %: its three parts fail with 5 % at most, so the test looks at the figures, not at it."""
    done = run_demo(tmp_path, "--learn", "--users", "20000", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == (0 if result["statement_holds"] else 1)
    assert (result["users"], result["epsilon"], result["compared"]) == (20_000, 2.0, 340)
    assert result["best_rule"] == "hour > 14"
    assert result["interval"] is None
    assert "expected band over all losses ±" in done.stderr
