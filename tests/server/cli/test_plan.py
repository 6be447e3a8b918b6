"""`sordino plan`: its JSON, its table, its files, and what it says to wrong input."""

import json
import os
import re
import signal

import pytest

from sordino_analysis import read_plan
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.figures import figure
from sordino_analysis.pairwise.one_round import OneRound
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.progress import Progress
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_server.cli.progress_bar import shown_progress
from sordino_shared.protocol import DevicePart, Digest

PREFIX = ("plan", "--workload", "prefix", "--size", "8", "--epsilon", "1", "--mechanism", "factorization")
PREFIX += ("--effort", "quick")


@pytest.fixture
def own_cache(run_command, monkeypatch, tmp_path):
    """The folder of plans for a test that looks at it, or at what is computed."""
    monkeypatch.setenv("SORDINO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_summary_as_json(json_of):
    summary = json_of(*PREFIX)
    assert (summary["mechanism"], summary["k"], summary["queries"], summary["epsilon"]) == ("factorization", 8, 7, 1.0)
    assert summary["max_variance"] > summary["lower_bound_max"] > 0
    assert [row["name"] for row in summary["candidates"]] == ["factorization"]
    assert "predicted_errors" not in summary


def test_the_chart_has_the_variances_and_the_bound(run_command, json_of, tmp_path):
    order = ("plan", "--workload", "histogram", "--size", "3", "--epsilon", "1")
    summary = json_of(*order, "--chart", "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert all(each["name"] in drawn for each in summary["candidates"] if each["max_variance"])
    assert "lower bound of any mechanism" in drawn


def test_users_and_target_error(json_of):
    summary = json_of(*PREFIX, "--users", "1000")
    assert len(summary["predicted_errors"]) == 7
    needed = json_of(*PREFIX, "--target-error", "0.05")["users_needed"]
    assert needed == pytest.approx(summary["max_variance"] / 0.05**2, abs=1)


def test_users_are_told_what_shuffling_hides_and_from_whom(run_command, json_of):
    order = ("plan", "--workload", "histogram", "--size", "12", "--epsilon", "1", "--mechanism", "subset_selection")
    shuffled = json_of(*order, "--users", "10000")["shuffled"]
    assert (shuffled["reports"], shuffled["fake"], shuffled["honest"], shuffled["delta"]) == (10_000, 0.1, 9_000, 1e-6)
    # ε of 9,000 reports of any randomizer; that of the kernel's own integers is smaller.
    assert 0.025 < shuffled["epsilon"] < 0.0559
    text = " ".join(run_command(*order, "--users", "10000", "--robust", "0.25", "--verbose").stdout.split())
    assert "if a shuffler mixed 10,000 reports and 75 % were honest: ε = 0.0" in text
    assert "at δ = 1e-06" in text
    alone = " ".join(run_command(*order, "--users", "1", "--verbose").stdout.split())
    assert "1 report and 90 % were honest: ε = 1, as so few hide nothing more" in alone
    # Nothing shuffles the reports of a plan for devices that report to the server.
    assert "shuffler" not in run_command(*order, "--users", "10000").stdout
    assert "shuffled" not in json_of(*order)


TOO_MUCH = ("--collector", "0.0001,1e-6", "--target-error", "0.01", "--device-epsilon", "0.25")
BEHIND = ("plan", "--workload", "histogram", "--size", "16", "--collector", "1,1e-6")


def test_a_plan_behind_a_shuffler_names_both_privacies(run_command, json_of):
    """The figures of the design: 1,618 users and 207 random reports, by exact laws of randomized response."""
    summary = json_of(*BEHIND, "--target-error", "0.01")
    assert (summary["epsilon"], summary["users_needed"], summary["blanket"]["reports"]) == (4.0, 1618, 207)
    text = " ".join(run_command(*BEHIND, "--target-error", "0.01").stdout.split())
    assert "mixes in 207 random reports: (ε 1, δ 1e-06) against the collector, even if all others are fake" in text
    assert "ε 4 if shuffler and collector work together" in text
    weaker = json_of(*BEHIND, "--target-error", "0.01", "--device-epsilon", "2")
    assert (weaker["epsilon"], weaker["blanket"]["reports"]) == (2.0, 44)
    # The table of the design has 492 random reports and 834 users.
    weak = json_of(*BEHIND, "--target-error", "0.01", "--device-epsilon", "6", "--weak-epsilon")
    assert (weak["epsilon"], weak["users_needed"], weak["blanket"]["reports"]) == (6.0, 834, 492)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--collector", "1,1e-6"), "state the error"),
        (("--collector", "1", "--target-error", "0.01"), "written as 1,1e-6"),
        (("--collector", "1,1", "--target-error", "0.01"), "from 0 to below 1"),
        (("--collector", "1,0", "--target-error", "0.01"), "from 1e-11 to below 1"),
        (("--collector", "one,1e-6", "--target-error", "0.01"), "one"),
        ((*TOO_MUCH, "--mechanism", "randomized_response"), "a shuffler adds at most 1,000,000"),
        (("--collector", "4,1e-6", "--target-error", "0.01"), "holds without a shuffler"),
        (("--collector", "1,1e-6", "--target-error", "0.01", "--epsilon", "1"), "leave out --epsilon"),
        (("--collector", "1,1e-6", "--target-error", "0.01", "--users", "10"), "--users or --target-error"),
        (("--device-epsilon", "4", "--epsilon", "1"), "goes with --collector"),
        (("--collector", "1,1e-6", "--target-error", "0.01", "--device-epsilon", "6"), "403 times as likely"),
        (("--collector", "1,1e-6", "--target-error", "0.01", "--device-epsilon", "4.000000001"), "add --weak-epsilon"),
        (("--collector", "1,1e-6", "--target-error", "0.01", "--device-epsilon", "much"), "much"),
    ],
)
def test_what_no_shuffler_can_promise_is_refused_in_words(run_command, options, sentence):
    result = run_command("plan", "--workload", "histogram", "--size", "4", *options, code=2)
    assert sentence in " ".join(result.stderr.split())


def test_the_table_marks_the_choice_and_says_what_was_not_taken(run_command):
    arguments = ("plan", "--workload", "prefix", "--size", "600", "--epsilon", "1", "--users", "50")
    text = run_command(*arguments, "--verbose").stdout
    assert "→ shifted_grids" in text
    assert "factorization was not taken: 600 types" in text
    assert re.search(r"^  factorization +≥ \d+", text, re.MULTILINE)
    assert "manipulation" in text.splitlines()[0]
    assert "predicted error of the worst query with 50 users" in text
    assert re.search(r"worst query: [\d.]+ \(1\.\d+× the lower bound\)", text)
    assert re.search(r"^warning: with 50 users, \d+ of \d+ answers .* from [\d,]+ users on", text, re.MULTILINE)
    assert re.search(r"device part  \w{64}  [\d,]+ bytes, verified by a device in at most \d+ MB\n", text)


def test_a_plan_far_from_the_bound_says_so_and_what_to_do(run_command, json_of):
    order = ("plan", "--workload", "prefix", "--size", "40", "--epsilon", "1", "--mechanism", "subset_selection")
    order += ("--effort", "quick")
    (warning,) = json_of(*order)["warnings"]
    assert "times the lower bound: leave the mechanism to the planner" in warning
    assert f"warning: {warning}" in run_command(*order).stdout.splitlines()


def test_robust_is_weighed_at_a_number_of_users(run_command, json_of):
    order = ("plan", "--workload", "histogram", "--size", "12", "--epsilon", "1", "--robust", "0.1")
    summary = json_of(*order, "--users", "1000")
    assert (summary["robust"], summary["mechanism"]) == (0.1, "subset_selection")
    moved = {row["name"]: row["manipulation"] for row in summary["candidates"] if row["applies"]}
    assert moved["subset_selection"] == summary["manipulation"] == min(moved.values())
    assert "state the number of users" in " ".join(run_command(*order, code=2).stderr.split())


def test_the_result_comes_first_and_fits_the_window(run_command, json_of):
    text = run_command(*PREFIX, "--target-error", "0.1", COLUMNS="80").stdout
    lines = text.splitlines()
    assert lines[0] == "mechanism: factorization"
    assert "users needed for an error of 0.1" in text
    moved = json_of(*PREFIX)["manipulation"] / 100
    assert f"1 % of fake reports can move an answer by up to {moved:.3g}" in text
    drawn = json_of(*PREFIX)["drawn_manipulation"]
    assert drawn["has_coin"]
    assert "over" not in drawn
    assert 0 < drawn["mean"] / 100 < 0.95 * moved
    told = f"  with tokens, whose coins are drawn, by up to {figure(drawn['mean'] / 100, 3)} in the mean"
    assert lines[[line.startswith("  1 % of fake") for line in lines].index(True) + 1] == told
    assert len(lines) < 17
    assert max(map(len, lines)) <= 80


def test_drawn_coins_of_some_queries_are_said_to_be_of_some(run_command, json_of):
    order = ("plan", "--workload", "prefix", "--size", "100", "--epsilon", "1", "--mechanism", "shifted_grids")
    order += ("--effort", "quick")
    drawn = json_of(*order)["drawn_manipulation"]
    assert drawn["over"] == "64 of 99 queries"
    text = run_command(*order).stdout
    assert f"by up to {figure(drawn['mean'] / 100, 3)} in the mean\n    of 64 of 99 queries\n" in text
    order = ("plan", "--workload", "histogram", "--size", "4", "--epsilon", "1")
    summary = json_of(*order)
    assert summary["drawn_manipulation"] == {"mean": summary["manipulation"], "has_coin": False}
    assert "with tokens" not in run_command(*order).stdout


def test_a_target_error_ends_with_the_price_of_locality(run_command, json_of):
    order = ("plan", "--workload", "histogram", "--size", "12", "--epsilon", "1", "--mechanism", "subset_selection")
    summary = json_of(*order, "--target-error", "0.01")
    price = summary["price_of_locality"]
    local, shuffled, blanket, curator = price["rows"]
    assert (price["target_error"], price["delta"], price["neighbours"]) == (0.01, 1e-6, "replace")
    assert local["users"] == summary["users_needed"] > blanket["users"] > curator["users"]
    assert local["users"] > shuffled["users"] > curator["users"]
    text = run_command(*order, "--target-error", "0.01").stdout
    assert "honest users for an error of 0.01 and a privacy of (1, 1e-06)" in text
    for row in price["rows"]:
        assert re.search(rf"^  {row['against']} +{row['users']:,}  ", text, re.MULTILINE)
    assert "price_of_locality" not in json_of(*order)


def test_the_output_folder_holds_the_parts_that_the_digests_name(run_command, json_of, tmp_path):
    summary = json_of(*PREFIX, "--output", "made/here")
    device = (tmp_path / "made/here/device.cbor").read_bytes()
    analyst = (tmp_path / "made/here/analyst.cbor").read_bytes()
    assert str(Digest.of(device)) == summary["digests"]["device"]
    assert len(device) == summary["device_bytes"]
    assert AnalystPart.read(analyst, Digest.parse(summary["digests"]["analyst"])).device_digest == Digest.of(device)
    assert DevicePart.read(device).randomizer.size == 8
    assert json.loads((tmp_path / "made/here/plan.json").read_text()) == summary
    assert read_plan(tmp_path / "made/here").variance == summary["max_variance"]
    assert "written to again/" in run_command(*PREFIX, "--output", "again").stdout


def test_a_workload_file_gives_the_plan_of_the_workload_it_describes(json_of, tmp_path):
    (tmp_path / "workload.json").write_text(json.dumps(builtin_specification("prefix", 8).canonical()))
    from_file = json_of("plan", "--file", "workload.json", *PREFIX[5:])
    assert from_file["digests"] == json_of(*PREFIX)["digests"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workload", "prefix", "--size", "1", "--epsilon", "1"), "at least two types"),
        (("--workload", "prefix", "--epsilon", "1"), "--size"),
        (("--epsilon", "1"), "--workload with --size, or --file"),
        (("--workload", "prefix", "--size", "8", "--epsilon", "0"), "above 0"),
        (("--workload", "prefix", "--size", "8", "--epsilon", "900"), "from 0.001 to 16"),
        (("--workload", "prefix", "--size", "8", "--epsilon", "much"), "written like 0.5"),
        (("--workload", "prefix", "--size", "8", "--epsilon", "1", "--mechanism", "magic"), "there are"),
        (
            ("--workload", "prefix", "--size", "8", "--epsilon", "1", "--users", "0"),
            "users: Input should be greater",
        ),
        (("--workload", "prefix", "--size", "8", "--epsilon", "1", "--users", "9", "--target-error", "1"), "not both"),
        ((*PREFIX[1:], "--target-error", "0"), "above the bias bound"),
        ((*PREFIX[1:], "--reduction", "99", "--users", "9"), "from 1 to the rank"),
        ((*PREFIX[1:], "--reduction", "3"), "stated number of users only"),
        (("--file", "none.yaml", "--epsilon", "1"), "cannot read the workload none.yaml: No such file or directory"),
        (("--file", "none.yaml", "--size", "8", "--epsilon", "1"), "goes with --workload"),
    ],
)
def test_wrong_input_is_a_sentence_and_exit_code_two(run_command, arguments, message):
    assert message in " ".join(run_command("plan", *arguments, code=2).stderr.split())


def test_an_unknown_kind_is_refused_with_the_kinds_there_are(run_command):
    error = run_command("plan", "--workload", "median", "--size", "8", "--epsilon", "1", code=2).stderr
    assert all(kind in error for kind in ("histogram", "prefix", "ranges"))


def test_a_folder_that_cannot_be_written_is_said(run_command, tmp_path):
    (tmp_path / "file").write_text("")
    error = run_command(*PREFIX, "--output", "file/below", code=1).stderr
    assert "file/below" in " ".join(error.split())


@pytest.fixture
def computed(monkeypatch):
    """The requests that were computed and not found."""
    requests = []

    compiled = LinearRequest.compile
    monkeypatch.setattr(LinearRequest, "compile", lambda *asked: requests.append(asked[0]) or compiled(*asked))
    return requests


def test_a_plan_is_computed_once(run_command, json_of, computed, own_cache):
    first = json_of(*PREFIX, "--users", "100")
    again = run_command(*PREFIX, "--users", "100", "--json")
    assert json.loads(again.stdout) == first
    assert "computed before" in again.stderr
    assert len(computed) == 1
    assert json_of(*PREFIX, "--users", "101")["users"] == 101
    assert json_of(*PREFIX, "--users", "100", "--no-cache")["digests"] == first["digests"]
    assert len(computed) == 3
    assert sorted(path.suffix for path in own_cache.iterdir()) == [".plan", ".plan"]


def test_a_damaged_entry_is_computed_again(json_of, computed, own_cache):
    first = json_of(*PREFIX)["digests"]
    (entry,) = own_cache.iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], bytes(32) + whole[32:]):
        entry.write_bytes(damaged)
        assert json_of(*PREFIX)["digests"] == first
        assert entry.read_bytes()[:32] == whole[:32]
    assert len(computed) == 5


def test_a_folder_that_cannot_hold_plans_costs_no_plan(run_command, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_command(*PREFIX, "--cache-dir", "file/below")
    assert "cannot be kept in file/below" in done.stderr
    assert "mechanism: factorization" in done.stdout


def test_too_little_time_gives_what_needs_none(json_of, run_command, computed, own_cache):
    order = ("plan", "--workload", "prefix", "--size", "40", "--epsilon", "1", "--time-limit", "0.000001")
    summary = json_of(*order)
    assert (summary["mechanism"], summary["cut_short"]) == ("subset_selection", "time limit")
    assert "the time was over" in {row["name"]: row["reason"] for row in summary["candidates"]}["optimised_kernel"]
    assert "cut short (time limit)" in run_command(*order).stdout
    assert len(computed) == 2, "a plan that was cut short is not kept"


def interrupting(monkeypatch, stage, *signals):
    """Sends the signals to this process once planning has reached the stage."""
    left = list(signals)

    compiled = LinearRequest.compile

    def compile_interrupted(request, progress, asked):
        def tell(told):
            progress(told)
            if told.stage == stage and left:
                os.kill(os.getpid(), left.pop(0))

        return compiled(request, tell, asked)

    monkeypatch.setattr(LinearRequest, "compile", compile_interrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_gives_the_best_so_far(json_of, monkeypatch, own_cache, number):
    before = signal.getsignal(number)
    interrupting(monkeypatch, "evaluating hyperplane_codebook", number)
    summary = json_of("plan", "--workload", "prefix", "--size", "10", "--epsilon", "1")
    assert summary["cut_short"] == "interrupted"
    reasons = {row["name"]: row["reason"] for row in summary["candidates"]}
    assert "the time was over" in reasons["optimised_kernel"]
    assert summary["lower_bound_max"] > 0
    assert not list(own_cache.glob("*"))
    assert signal.getsignal(number) == before


def test_an_interruption_in_the_search_gives_the_kernel_it_has(json_of, monkeypatch):
    order = ("plan", "--workload", "prefix", "--size", "10", "--epsilon", "1", "--mechanism", "optimised_kernel")
    whole = json_of(*order, "--no-cache")
    interrupting(monkeypatch, "evaluating optimised_kernel", signal.SIGINT)
    summary = json_of(*order, "--no-cache")
    assert summary["cut_short"] == "interrupted"
    assert summary["max_variance"] > 1.01 * whole["max_variance"]


def test_a_second_interruption_ends_the_command(run_command, monkeypatch, own_cache):
    interrupting(monkeypatch, "evaluating hyperplane_codebook", signal.SIGINT, signal.SIGINT)
    monkeypatch.setattr("sordino_analysis.optimisation.deadline.Deadline.passed", lambda deadline: False)
    run_command("plan", "--workload", "prefix", "--size", "10", "--epsilon", "1", code=130)


def test_progress_shows_how_good_the_best_is():
    assert shown_progress(Progress(0.5, "searching")) == "searching"
    assert shown_progress(Progress(0.5, "searching", 3.0)) == "searching · variance 3"
    assert shown_progress(Progress(0.5, "searching", 3.0, 2.0)) == "searching · variance 3, 1.500× the bound"


GINI = """
name: mixed colours
domain: [{name: colour, kind: categorical, labels: [red, green, blue]}]
statistic: {kind: gini_diversity}
"""


def test_protocols_for_a_statistic_of_pairs(run_command, json_of, tmp_path):
    (tmp_path / "gini.yaml").write_text(GINI)
    asked = ("plan", "--file", "gini.yaml", "--epsilon", "1", "--users", "1000", "--effort", "quick")
    summary = json_of(*asked, "--protocol", "one_round", "--target", "histogram")
    assert (summary["protocol"], summary["target"], summary["rounds"]) == ("one_round", "histogram", [1.0])
    moved = summary["manipulation"]["users differ"]
    text = run_command(*asked, "--protocol", "one_round_split", "--output", "parts").stdout
    assert text.startswith("protocol: one_round_split\n")
    assert moved["linear"] > 1
    assert "1 % of fake reports can move" in text
    text = run_command(*asked, "--protocol", "one_round_split", "--verbose").stdout
    assert "→ one_round_split" in text
    assert "a share f of fake reports in every round moves" in text
    protocol = ProtocolPlan.read((tmp_path / "parts" / "protocol.json").read_bytes())
    device = DevicePart.read((tmp_path / "parts" / "device.cbor").read_bytes())
    assert (protocol.protocol, protocol.rounds) == ("one_round_split", (device.guarantee.nano,))


ASKED_GINI = ("plan", "--file", "gini.yaml", "--epsilon", "1", "--users", "1000", "--effort", "quick")


def test_a_protocol_is_computed_once(run_command, json_of, monkeypatch, own_cache, tmp_path):
    (tmp_path / "gini.yaml").write_text(GINI)
    first = json_of(*ASKED_GINI, "--protocol", "one_round_split")
    computed = []
    compiled = PairwiseRequest.compile
    monkeypatch.setattr(PairwiseRequest, "compile", lambda *asked: computed.append(asked) or compiled(*asked))
    again = run_command(*ASKED_GINI, "--protocol", "one_round_split", "--json", "--output", "parts")
    assert json.loads(again.stdout) == first
    assert "computed before" in again.stderr
    protocol = ProtocolPlan.read((tmp_path / "parts" / "protocol.json").read_bytes())
    assert protocol.digest == Digest.parse(first["digest"])
    assert computed == []
    json_of(*ASKED_GINI, "--protocol", "one_round_split", "--no-cache")
    assert len(computed) == 1


def test_a_plan_of_queries_is_no_plan_of_a_statistic(json_of, own_cache, tmp_path):
    (tmp_path / "gini.yaml").write_text(GINI)
    json_of(*PREFIX)
    (entry,) = own_cache.iterdir()
    first = json_of(*ASKED_GINI, "--protocol", "one_round_split")
    (added,) = set(own_cache.iterdir()) - {entry}
    added.write_bytes(added.read_bytes()[:32] + entry.read_bytes()[32:])
    assert json_of(*ASKED_GINI, "--protocol", "one_round_split")["digest"] == first["digest"]


def test_an_interrupted_comparison_gives_the_best_so_far(run_command, monkeypatch, own_cache, tmp_path):
    """Ctrl-C while the search of one_round is under way: the protocols without a search are designed by then."""
    (tmp_path / "gini.yaml").write_text(GINI)
    design = OneRound.design

    def interrupted(protocol, request, progress):
        os.kill(os.getpid(), signal.SIGINT)
        return design(protocol, request, progress)

    monkeypatch.setattr(OneRound, "design", interrupted)
    done = run_command(*ASKED_GINI, "--json")
    summary = json.loads(done.stdout)
    assert summary["cut_short"] == "interrupted"
    reasons = {row["name"]: row["reason"] for row in summary["protocols"]}
    assert reasons["two_round"] == reasons["two_round_shared"] == "the time was over before its turn"
    assert reasons["one_round"] is reasons["one_round_split"] is None
    assert not list(own_cache.glob("*"))
    assert "cut short (interrupted)" in run_command(*ASKED_GINI).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "a pairwise statistic needs --users: its protocol"),
        (("--users", "9", "--mechanism", "factorization"), "leave out --mechanism: they apply to linear queries"),
        (("--users", "9", "--target-error", "1"), "leave out --target-error: "),
        (("--users", "9", "--objective", "max", "--reduction", "2"), "leave out --reduction, --objective: "),
    ],
)
def test_what_a_statistic_needs_and_has_no_use_for(run_command, tmp_path, options, message):
    (tmp_path / "gini.yaml").write_text(GINI)
    said = run_command("plan", "--file", "gini.yaml", "--epsilon", "1", *options, code=2).stderr
    assert message in " ".join(said.split())


def test_linear_queries_have_no_protocol(run_command):
    assert "linear queries" in run_command(*PREFIX, "--protocol", "one_round", code=2).stderr
