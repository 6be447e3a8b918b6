"""`sordino plan --trust curator`: the keys of local plans, its text, and options of the other kind of plan."""

import json
from dataclasses import replace

import pytest

from sordino_analysis.documents.curator_part import CuratorPart
from sordino_shared.protocol.codec import encode_value

CURATOR = ("plan", "--workload", "prefix", "--size", "8", "--trust", "curator", "--rho", "0.02")
LOCAL = ("plan", "--workload", "prefix", "--size", "8")


def test_the_json_has_the_figures_of_local_plans_in_counts(json_of):
    summary = json_of(*CURATOR, "--users", "500", "--delta", "1e-9")
    assert (summary["trust"], summary["k"], summary["queries"], summary["rho"]) == ("curator", 8, 7, 0.02)
    assert (summary["delta"], summary["neighbours"]) == (1e-9, "replace")
    for objective in ("max", "mean"):
        variance, bound = summary[f"{objective}_variance"], summary[f"lower_bound_{objective}"]
        assert summary[f"ratio_{objective}"] == pytest.approx(variance / bound)
        assert 0 < bound < variance
    local = json_of(*LOCAL, "--epsilon", "1", "--mechanism", "factorization", "--users", "500")
    shared = {"workload", "k", "queries", "epsilon", "objective", "mechanism", "max_variance", "mean_variance"}
    assert shared | {"lower_bound_max", "ratio_max", "users", "predicted_max_rmse"} <= local.keys() & summary.keys()


def test_the_text_names_the_guarantee_and_the_premise_of_the_bounds(run_command):
    text = " ".join(run_command(*CURATOR, "--objective", "mean").stdout.split())
    assert "ρ = 0.02 (ε = 0." in text
    assert "× the lower bound" in text
    assert "the bounds hold for unbiased releases if every cell has a row; if not, less is proved" in text


def test_epsilon_alone_is_pure_and_with_delta_both_kinds_are_compared(json_of, run_command):
    pure = json_of(*LOCAL, "--trust", "curator", "--epsilon", "1")
    assert (pure["guarantee"], pure["rho"], pure["epsilon"], pure["delta"]) == ("pure_epsilon", None, 1, 0)
    assert pure["rho_cost"] == pytest.approx(0.462117, rel=1e-5)
    assert {block["norm"] for block in pure["noise"]["blocks"]} <= {"l1", "linf"}
    both = json_of(*LOCAL, "--trust", "curator", "--epsilon", "1", "--delta", "1e-6")
    names = [each["mechanism"] for each in both["considered"]]
    assert both["mechanism"] == names[0] == pure["mechanism"]
    assert "discrete gaussian" in names
    assert json_of(*LOCAL, "--trust", "curator", "--epsilon", "1", "--delta", "0.1")["guarantee"] == "zcdp"
    text = run_command(*LOCAL, "--trust", "curator", "--epsilon", "1").stdout
    assert "pure ε = 1" in text
    assert "where a cap on ρ counts it, it costs ρ = 0.462" in text


def test_a_mechanism_is_taken_by_name(json_of):
    asked = (*LOCAL, "--trust", "curator", "--epsilon", "1", "--delta", "1e-6")
    for name, found in (("gaussian", "gaussian"), ("laplace", "laplace"), ("blocks", "on the")):
        assert found in json_of(*asked, "--mechanism", name)["mechanism"]


def test_jl_is_planned_by_name_beside_the_best_release(json_of, run_command, tmp_path):
    asked = (*LOCAL, "--trust", "curator", "--epsilon", "1", "--users", "1000", "--mechanism")
    for name in ("jl", "coarse_jl"):
        found = json_of(*asked, name, "--output", str(tmp_path / name))
        assert (found["mechanism"], found["users"], found["guarantee"]) == (name, 1000, "pure_epsilon")
        assert found["best_errors"]["zipf"] < found["errors"]["zipf"] < found["knowing_nothing"]["zipf"]
        assert found["sums"] in (250, 1000, 1024)
        assert [block["rows"] for block in found["noise"]["blocks"]] == [found["sums"]]
        report = json_of("audit", str(tmp_path / name))
        assert report["holds"]
        assert [check["name"] for check in report["checks"]] == ["digest of curator.cbor", "ε"]
    text = " ".join(run_command(*asked, "jl").stdout.split())
    assert "its answers are biased: they have no intervals, and no certificate" in text
    both = json_of(*asked, "jl", "--delta", "1e-6")
    assert both["guarantee"] in ("pure_epsilon", "zcdp")
    assert sum(both["errors"].values()) <= sum(json_of(*asked, "jl")["errors"].values())


def test_epsilon_is_turned_into_a_rho_that_implies_it_and_a_secret_number_is_a_query(json_of):
    asked = (*LOCAL, "--trust", "curator", "--epsilon", "1", "--delta", "1e-6", "--time-limit", "60")
    arguments = (*asked, "--mechanism", "gaussian")
    known, secret = json_of(*arguments), json_of(*arguments, "--neighbours", "add-remove")
    assert known["rho"] == pytest.approx(0.024356, rel=1e-3)
    assert 0.999 < known["epsilon"] <= 1
    assert (secret["rho"], secret["neighbours"], secret["holds_from_n"]) == (known["rho"], "add-remove", 0)
    assert secret["mean_variance"] < known["mean_variance"]


def test_the_audit_of_a_written_plan_holds_and_finds_another_byte(run_command, json_of, tmp_path):
    folder = tmp_path / "plan"
    assert "curator.cbor" in run_command(*CURATOR, "--output", str(folder)).stdout
    report = json_of("audit", str(folder))
    assert report["holds"]
    assert {"digest of curator.cbor", "Δ²", "unbiased"} <= {check["name"] for check in report["checks"]}
    content = (folder / "curator.cbor").read_bytes()
    (folder / "curator.cbor").write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    assert "do not use it" in run_command("audit", str(folder), code=1).stderr
    (folder / "curator.cbor").write_bytes(b"no plan")
    assert "not part of a plan" in run_command("audit", str(folder), code=2).stderr


def test_the_audit_finds_a_scale_of_0_and_a_certificate_that_is_one_off(run_command, json_of, tmp_path):
    asked, folder = (*LOCAL, "--trust", "curator", "--epsilon", "1", "--output"), tmp_path / "plan"
    run_command(*asked, str(folder))
    path = folder / "curator.cbor"
    content = path.read_bytes()
    part = CuratorPart.read(content)
    assert part.noise.kind == "blocks"
    numerator, denominator = part.noise.blocks[0].scale
    assert content.count(encode_value([numerator, denominator])) == 1
    path.write_bytes(content.replace(encode_value([numerator, denominator]), encode_value([0, denominator])))
    assert "scale" in run_command("audit", str(folder), code=2).stderr
    bound = part.max_bound
    fewer = replace(part, max_bound=replace(bound, holds_from_n=str(int(bound.holds_from_n) - 1)))
    path.write_bytes(fewer.content)
    report = json.loads(run_command("audit", str(path), "--json", code=1).stdout)
    failed = [check["name"] for check in report["checks"] if not check["holds"]]
    assert failed == ["people of the lower bound, max"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*LOCAL, "--trust", "curator"), "give --rho"),
        ((*CURATOR, "--epsilon", "1"), "give --rho"),
        ((*CURATOR, "--time-limit", "-1"), "time limit"),
        ((*CURATOR, "--neighbours", "friends"), "friends"),
        ((*LOCAL, "--epsilon", "1", "--neighbours", "add-remove"), "leave out --neighbours"),
        (LOCAL, "give --epsilon"),
        ((*LOCAL, "--epsilon", "1", "--rho", "1"), "leave out --rho"),
        ((*CURATOR, "--mechanism", "factorization"), "is one of gaussian, laplace, blocks"),
        ((*CURATOR, "--mechanism", "jl"), "give --users"),
        ((*CURATOR, "--mechanism", "jl", "--users", "9", "--neighbours", "add-remove"), "known number of people"),
        ((*CURATOR, "--mechanism", "laplace"), "guarantee of this kind"),
        ((*LOCAL, "--trust", "curator", "--epsilon", "1", "--mechanism", "gaussian"), "guarantee of this kind"),
        ((*LOCAL, "--trust", "curator", "--epsilon", "0"), "ε must be"),
        ((*LOCAL, "--trust", "curator", "--epsilon", "0.0001"), "from 0.001 to 64"),
        ((*LOCAL, "--trust", "curator", "--epsilon", "65"), "from 0.001 to 64"),
        ((*LOCAL, "--trust", "curator", "--rho", "nan"), "ρ must be"),
        ((*LOCAL, "--trust", "curator", "--rho", "-1"), "ρ must be"),
        ((*CURATOR, "--delta", "x"), "δ must be"),
        ((*CURATOR, "--delta", "2"), "δ must be"),
        ((*CURATOR, "--users", "0"), "at least one user"),
    ],
)
def test_wrong_input_is_a_sentence_and_exit_code_two(run_command, arguments, message):
    assert message in run_command(*arguments, code=2).stderr
