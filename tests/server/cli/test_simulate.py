"""`sordino simulate` against one running server: own files, own workloads, and what is wrong with them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation import campaign
from sordino_server.cli.simulation.devices import DevicesFailed
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.run import RemoteServer
from sordino_server.cli.simulation.server_process import ServerFailed, create_key, local_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteServer]:
    folder = tmp_path_factory.mktemp("server")
    with local_server(folder, Stages(Console(stderr=True))) as address:
        yield RemoteServer(address, create_key(folder))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """900 devices: delays 0 to 8, every ninth absent; carriers A, A, B."""
    path = tmp_path / "rows.csv"
    lines = [f"{'NA' if i % 9 == 8 else i % 9},{'AAB'[i % 3]},w{i}" for i in range(900)]
    path.write_text("delay,carrier,word\n" + "\n".join(lines) + "\n")
    return path


def run(server: RemoteServer, *options: str) -> Any:
    arguments = ["simulate", "--server", server.address, "--key", server.key, "--apps", "2", *options]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


def result_of(done: Any) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_numeric_column_with_edges(server: RemoteServer, rows: Path, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    options = ["--csv", str(rows), "--column", "delay", "--workload", "prefix", "--edges", "1,3,5"]
    result = result_of(run(server, *options, "--epsilon", "4", "--chart", str(chart), "--json"))
    assert (result["users"], result["apps"], result["fleet"]) == (900, 2, 898)
    assert result["epsilon"] == 4.0
    assert Path(result["chart"]) == chart.resolve()
    # So few answers are all named below the axis.
    written = set(re.findall(r"<text[^>]*>([^<]*)</text>", html.unescape(chart.read_text(encoding="utf-8"))))
    assert {answer["label"] for answer in result["answers"]} <= written
    # The largest of a few errors is beyond 5 predicted standard deviations in fewer than 1 of 200,000 runs.
    assert result["max_abs_error"] < 5 * result["predicted_rmse_max"]


def test_a_column_of_words_as_a_table(server: RemoteServer, rows: Path) -> None:
    done = run(server, "--csv", str(rows), "--column", "carrier", "--epsilon", "4")
    assert done.exit_code == 0, done.output
    lines = {line.split("  ")[0].strip(): line for line in done.stdout.splitlines()}
    # The error that the reports leave decides between no decimal and one.
    for label, share in (("A", r"6(7|6\.7)"), ("B", r"33(\.3)?"), ("missing", r"0(\.0)?")):
        assert re.search(rf" {share} %", lines[f"carrier: {label}"])


def test_marginals_of_more_attributes_than_cells_have_numbers(server: RemoteServer, tmp_path: Path) -> None:
    """66 settings of 400 devices: planned, answered and estimated, with 2^66 cells that nothing lists."""
    names = [f"s{number}" for number in range(66)]
    rows = [["on" if (row * row + place) % 5 == 0 else "off" for place in range(66)] for row in range(400)]
    (tmp_path / "rows.csv").write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    queries = {"kind": "marginals", "width": 1}
    (tmp_path / "workload.yaml").write_text(json.dumps({"name": "settings", "domain": domain, "queries": queries}))
    columns = [option for name in names for option in ("--column", f"{name}={name}")]
    options = ["--csv", str(tmp_path / "rows.csv"), "--spec", str(tmp_path / "workload.yaml"), *columns]
    result = result_of(run(server, *options, "--epsilon", "4", "--json"))
    assert (result["queries"], result["users"], result["mechanism"]) == (132, 400, "orbit_kernel")
    # The largest of 132 errors is beyond 5 predicted standard deviations in fewer than 1 of 10,000 runs.
    assert result["max_abs_error"] < 5 * result["predicted_rmse_max"]


SPECIFICATION = """
name: delays by carrier
domain:
  - {name: minutes, kind: ordinal, edges: [1, 4], missing: true}
  - {name: who, kind: categorical, labels: [A, B]}
queries: histogram
"""


def test_texts_that_no_estimate_lists_are_asked_for_one_by_one(server: RemoteServer, tmp_path: Path) -> None:
    spec, rows = tmp_path / "url.yaml", tmp_path / "urls.csv"
    # Blanks at the ends go when a file is read; commas and colons are part of a text.
    texts = ["https://a.example/?q=x,y"] * 600 + ["b: ü"] * 300 + [f"rare {i}" for i in range(99)] + ["NA"]
    rows.write_text("url\n" + "\n".join(f'"{text}"' for text in texts) + "\n", encoding="utf-8")
    attribute = {"name": "url", "kind": "hashed", "bits": 63, "missing": True}
    spec.write_text(json.dumps({"name": "urls", "domain": [attribute], "queries": "histogram"}))
    options = ["--csv", str(rows), "--column", "url", "--spec", str(spec), "--epsilon", "4", "--json"]
    result = result_of(run(server, *options))
    answers = result["answers"]
    assert (result["queries"], [each["label"] for each in answers[:2]]) == (101, ["https://a.example/?q=x,y", "b: ü"])
    assert [each["truth"] for each in answers[:3]] == [0.6, 0.3, 0.001]
    assert result["unlisted"] > 2**60
    # The band is for 2^64 items: one of 101 is outside in fewer than one run in 10^17.
    assert result["band_holds"]
    assert answers[0]["value"] > 0.4 > answers[1]["value"] > 0.15


def test_two_columns_with_a_workload_file(server: RemoteServer, rows: Path, tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text(SPECIFICATION)
    options = ["--csv", str(rows), "--spec", str(tmp_path / "workload.yaml"), "--epsilon", "3", "--json"]
    result = result_of(run(server, *options, "--column", "minutes=delay", "--column", "who=carrier"))
    assert result["queries"] == 8
    done = run(server, *options, "--column", "minutes=delay", "--column", "carrier")
    assert done.exit_code == 2
    assert "ATTRIBUTE=COLUMN" in done.output


def test_users_are_drawn_from_rows_and_campaigns_repeated_with_fresh_noise(server: RemoteServer, rows: Path) -> None:
    options = ["--csv", str(rows), "--column", "carrier", "--users", "300", "--epsilon", "4", "--repeat", "3"]
    found = result_of(run(server, *options, "--json"))
    assert (found["repeat"], found["users"], len(found["campaigns"])) == (3, 300, 3)
    assert len({one["rms_error"] for one in found["campaigns"]}) == 3
    assert found["interval_coverage"] == pytest.approx(sum(one["interval_coverage"] for one in found["campaigns"]) / 3)
    again = run(server, *options, "--verbose", "--seed", "1")
    assert "3 campaigns of 300 devices" in again.stdout


def test_numbers_by_value_and_in_bins_of_equal_counts(server: RemoteServer, rows: Path) -> None:
    options = ["--csv", str(rows), "--column", "delay", "--epsilon", "4", "--json"]
    counted = result_of(run(server, *options, "--categorical"))
    assert "delay: 7" in [answer["label"] for answer in counted["answers"]]
    cut = result_of(run(server, *options, "--quantile-bins", "--bins", "4"))
    assert [answer["truth"] for answer in cut["answers"]][:4] == pytest.approx([2 / 9] * 4)


GINI = "name: x\ndomain: [{name: c, kind: categorical, labels: [A, B]}]\nstatistic: {kind: gini_diversity}\n"


@pytest.mark.parametrize(
    ("specification", "idle"),
    [
        (SPECIFICATION, ["--bins", "32"]),
        (SPECIFICATION, ["--quantile-bins"]),
        (SPECIFICATION, ["--categorical"]),
        (SPECIFICATION, ["--protocol", "two_round"]),
        (GINI, ["--objective", "max"]),
        (GINI, ["--mechanism", "subset_selection"]),
        (GINI, ["--chart", "c.svg"]),
    ],
)
def test_options_that_would_change_nothing(
    server: RemoteServer, rows: Path, tmp_path: Path, specification: str, idle: list[str]
) -> None:
    (tmp_path / "asked.yaml").write_text(specification)
    done = run(server, "--csv", str(rows), "--spec", str(tmp_path / "asked.yaml"), "--column", "carrier", *idle)
    assert done.exit_code == 2
    assert f"leave out {idle[0]}: " in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "late"], "no column 'late'"),
        (["--column", "word"], "900 different values"),
        (["--column", "delay", "--column", "carrier"], "--spec"),
        (["--column", "delay", "--edges", "1,x"], "--edges takes numbers"),
        (["--column", "delay", "--edges", "3,1"], "increas"),
        (["--column", "carrier", "--workload", "prefix"], "categorical"),
        (["--column", "delay", "--epsilon", "-1"], "ε must be above 0"),
        (["--column", "delay", "--bins", "1"], "--bins"),
        (["--column", "delay", "--users", "1"], "2 to 10,000,000 devices"),
        (["--column", "delay", "--repeat", "0"], "--repeat"),
        (["--column", "delay", "--repeat", "2", "--chart", "c.svg"], "leave out --chart"),
        (["--column", "delay", "--quantile-bins", "--edges", "1,2"], "leave out --quantile-bins"),
        (["--column", "delay", "--categorical", "--bins", "4"], "leave out --bins"),
        (["--column", "delay", "--spec", "none.yaml"], "none.yaml"),
        (["--column", "delay", "--protocol", "two_round"], "leave out --protocol"),
        (["--column", "delay", "--chart", "/no/such/folder/c.svg"], "cannot be written"),
    ],
)
def test_bad_input_is_said_clearly(server: RemoteServer, rows: Path, options: list[str], message: str) -> None:
    done = run(server, "--csv", str(rows), *options)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", " ")


def test_a_server_that_is_not_there_and_a_missing_key(rows: Path) -> None:
    options = ["simulate", "--csv", str(rows), "--column", "delay", "--server", "http://127.0.0.1:9"]
    alone = CliRunner(env={"SORDINO_KEY": ""}).invoke(app, options)
    assert alone.exit_code == 2
    assert "--key" in alone.output
    unreachable = CliRunner().invoke(app, [*options, "--key", "sdo_admin_0_0"])
    assert unreachable.exit_code == 1
    assert "cannot be reached" in unreachable.output.replace("\n", " ")


def test_a_campaign_that_fails_half_way_is_cancelled(
    server: RemoteServer, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DevicesFailed(898, "the network is gone")

    monkeypatch.setattr(campaign, "answer_as_fleet", fail)
    done = run(server, "--csv", str(rows), "--column", "delay", "--epsilon", "2")
    assert done.exit_code == 2
    assert "898 simulated reports did not count: the network is gone" in done.output.replace("\n", " ")
    with Remote(server.address, server.key) as remote:
        newest = next(remote.listed("/v1/campaigns", "campaigns"))
    assert newest["state"] == "cancelled"


def test_a_server_that_does_not_start_shows_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sordino_server").mkdir()
    (tmp_path / "sordino_server" / "__init__.py").write_text("raise SystemExit('the disk is on fire')")
    with pytest.raises(ServerFailed, match="ended with code 1") as caught, local_server(tmp_path, Stages(Console())):
        pass
    assert "the disk is on fire" in caught.value.log


def test_a_statistic_of_pairs_goes_through_its_rounds(server: RemoteServer, tmp_path: Path) -> None:
    """Six hundred rows of three colours through the server, six of them as apps that are started anew each round."""
    (tmp_path / "colours.csv").write_text("colour\n" + "red\n" * 300 + "blue\n" * 200 + "green\n" * 100)
    (tmp_path / "gini.yaml").write_text(
        "name: mixed\ndomain: [{name: colour, kind: categorical, labels: [red, blue, green]}]\n"
        "statistic: {kind: gini_diversity}\n"
    )
    asked = ("--csv", str(tmp_path / "colours.csv"), "--column", "colour", "--spec", str(tmp_path / "gini.yaml"))
    done = run(
        server, *asked, "--protocol", "two_round", "--time-limit", "4", "--epsilon", "4", "--apps", "6", "--json"
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["truth"] == pytest.approx(2 * (300 * 200 + 300 * 100 + 200 * 100) / (600 * 599))
    # Six times the predicted error: one false alarm in 10^8.
    assert found["error"] < 6 * found["predicted_rmse"]
    assert (len(found["rounds"]), sum(each["users"] for each in found["rounds"])) == (2, 600)
    assert (found["apps"], found["fleet"]) == (6, 594)


@pytest.fixture
def crashes(tmp_path: Path) -> Path:
    """16,000 devices, of which those with dark mode on Linux crash; the memory tells nothing."""
    lines = ["dark,os,memory,crashed"]
    for i in range(16_000):
        dark, system = i % 2, ("linux", "mac", "win")[i // 2 % 3]
        lines.append(f"{dark},{system},{i // 6 % 40 / 4},{'yes' if dark and system == 'linux' else 'no'}")
    path = tmp_path / "crashes.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_label_is_predicted_by_rules_about_the_other_columns(server: RemoteServer, crashes: Path) -> None:
    """The rule's loss is 0, the next best one's at least 1/24, nine standard errors of their difference at ε = 6."""
    result = result_of(run(server, "--csv", str(crashes), "--label", "crashed", "--epsilon", "6", "--json"))
    assert result["rule"]["text"] == result["best_rule"] == "dark=1 and os=linux"
    assert (result["true_loss"], result["excess"], result["statement_holds"]) == (0.0, 0.0, True)
    assert (result["interval"], result["users"]) == (None, 16_000)
    assert "and" in run(server, "--csv", str(crashes), "--label", "crashed", "--column", "dark", "--width", "1").stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "os"], "has 3 different values ('linux', 'mac', 'win')"),
        (["--label", "ram"], "no column 'ram'"),
        (["--label", "crashed", "--column", "crashed"], "a rule may not look at it"),
        (["--label", "crashed", "--positive", "maybe"], "the values no and yes, not 'maybe'"),
        (["--label", "crashed", "--workload", "prefix"], "leave out --workload"),
        (["--column", "dark", "--width", "3"], "leave out --width"),
    ],
)
def test_labels_that_cannot_be_predicted_are_refused(
    server: RemoteServer, crashes: Path, options: list[str], words: str
) -> None:
    done = run(server, "--csv", str(crashes), *options)
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())


def test_numbers_that_a_range_clips_are_counted(server: RemoteServer, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("load\n" + "\n".join(["5"] * 95 + ["99"] * 5) + "\n")
    attribute = {"name": "load", "kind": "number", "low": 0, "high": 60, "unit": "s"}
    spec = tmp_path / "load.json"
    spec.write_text(json.dumps({"name": "load", "domain": [attribute], "queries": {"load": "mean"}}))
    options = ["--csv", str(tmp_path / "rows.csv"), "--column", "load", "--spec", str(spec)]
    done = run(server, *options)
    assert done.exit_code == 0, done.output
    # The console may have been made by an earlier test of this process, for narrower lines.
    said = " ".join(done.stdout.split())
    assert "load: 0.0 % below 0 s and 5.0 % above 60 s" in said
    assert "5.0 % of the users have load above 60 s" in said
    [clipped] = result_of(run(server, *options, "--json"))["clipped"]
    assert clipped == {"attribute": "load", "unit": "s", "low": 0.0, "high": 60.0, "below": 0.0, "above": 0.05}


def test_the_same_simulation_again_waits_for_the_next_second(server: RemoteServer, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("load\n" + "1\n2\n" * 20)
    options = ["--csv", str(tmp_path / "rows.csv"), "--column", "load", "--bins", "2", "--apps", "0", "--json"]
    campaigns = {result_of(run(server, *options))["campaign"] for _ in range(2)}
    assert len(campaigns) == 2
