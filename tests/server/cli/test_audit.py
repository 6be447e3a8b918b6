"""`sordino audit`: true plans pass, any touched byte is found, and messages say what is wrong."""

import json
import shutil
import sys

import numpy as np
import pytest

from sordino_shared.protocol import Digest
from tests.hostile_http import answers, documents, hostile_servers

MECHANISMS = ["randomized_response", "subset_selection", "hyperplane_codebook", "factorization"]


@pytest.fixture
def written(run_command, tmp_path):
    """Writes a plan of the mechanism and returns its folder."""

    def write(mechanism):
        folder = tmp_path / mechanism
        run_command(
            "plan", "--workload", "prefix", "--size", "5", "--epsilon", "1", "--mechanism", mechanism,
            "--effort", "quick", "--output", str(folder),
        )  # fmt: skip
        return folder

    return write


@pytest.fixture
def plan_server():
    """Starts a server that answers GET /v1/plans/{digest} and /v1/protocol-plans/{digest} from a folder."""
    with hostile_servers() as start:

        def serve(folder):
            places = {"device.cbor": "plans", "analyst.cbor": "plans", "protocol.json": "protocol-plans"}
            contents = {name: (folder / name).read_bytes() for name in places if (folder / name).exists()}
            digests = {name: str(Digest.of(content)) for name, content in contents.items()}
            known = {f"/v1/{places[name]}/{digests[name]}": contents[name] for name in contents}
            return start(documents(known)), list(digests.values())

        yield serve


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_plan_as_written_passes_and_shows_what_was_recomputed(written, run_command, json_of, mechanism):
    folder = written(mechanism)
    held = len(json_of("audit", str(folder))["checks"])
    first, second, *_ = run_command("audit", str(folder)).stdout.splitlines()
    assert first.startswith("ε = 1 of one report. Anyone who sees the report: their odds about your answer")
    assert second.startswith(f"{held} of {held} published values hold (--verbose")
    text = run_command("audit", str(folder), "--verbose").stdout
    assert all(claim in text for claim in ("digest of analyst.cbor", "ε", "max variance", "lower bound, mean"))
    report = json_of("audit", str(folder / "device.cbor"), str(folder / "analyst.cbor"))
    assert report["holds"]
    assert all(check["holds"] for check in report["checks"])
    published = json.loads((folder / "plan.json").read_text())["manipulation"]
    assert max(report["manipulation"].values()) == pytest.approx(published, rel=1e-12)
    assert len(report["manipulation"]) == 4
    assert f"moves an answer by at most {published:.4g}·f" in " ".join(text.split())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_any_touched_byte_is_found(written, run_command, tmp_path, mechanism):
    folder, rng = written(mechanism), np.random.default_rng(4)
    for name in ("device.cbor", "analyst.cbor"):
        content = (folder / name).read_bytes()
        for position in rng.integers(0, len(content), size=12):
            copy = tmp_path / "touched"
            shutil.copytree(folder, copy)
            touched = bytearray(content)
            touched[position] ^= 1 << rng.integers(8)
            (copy / name).write_bytes(touched)
            result = run_command_either(run_command, "audit", str(copy))
            assert "error:" in result.stderr
            shutil.rmtree(copy)


def run_command_either(run_command, *arguments):
    """A figure that does not hold exits with 1, a document that cannot be read with 2."""
    try:
        return run_command(*arguments, code=1)
    except AssertionError:
        return run_command(*arguments, code=2)


def test_a_wrong_figure_is_named(written, run_command):
    folder = written("factorization")
    other = written("hyperplane_codebook")
    error = run_command("audit", str(folder / "device.cbor"), str(other / "analyst.cbor"), code=2).stderr
    assert "the decoder has shape" in error
    (folder / "plan.json").unlink()
    content = (folder / "device.cbor").read_bytes()
    (folder / "device.cbor").write_bytes(content.replace(b"value", b"thing"))
    error = run_command("audit", str(folder), code=1).stderr
    assert "device part" in error
    assert "do not use it" in " ".join(error.split())


def test_digests_that_differ_are_shown_whole(written, run_command):
    folder = written("subset_selection")
    published = json.loads((folder / "plan.json").read_text())
    true = published["digests"]["device"]
    published["digests"]["device"] = wrong = true[:-1] + ("0" if true[-1] != "0" else "1")
    (folder / "plan.json").write_text(json.dumps(published))
    shown = run_command("audit", str(folder), code=1).stdout
    assert true in shown
    assert wrong in shown
    assert published["digests"]["analyst"] not in shown


def test_a_device_part_alone_shows_its_epsilon(written, json_of):
    report = json_of("audit", str(written("subset_selection") / "device.cbor"))
    assert [check["name"] for check in report["checks"]] == ["ε"]
    assert set(report) == {"holds", "checks"}


def test_every_bound_is_shown_with_its_kind_and_the_ratio_to_it(run_command, json_of, tmp_path):
    kinds = {"0.4": ("trace", "trace"), "2": ("own_types", "doubly_nonnegative")}
    for epsilon, (worst, mean) in kinds.items():
        folder = str(tmp_path / worst)
        options = ("--epsilon", epsilon, "--mechanism", "hyperplane_codebook", "--output", folder)
        planned = json_of("plan", "--workload", "prefix", "--size", "8", *options)
        report = json_of("audit", folder)
        shown = {check["name"]: check["published"] for check in report["checks"]}
        for objective, kind in (("max", worst), ("mean", mean)):
            assert shown[f"lower bound, {objective}"] == f"{planned[f'lower_bound_{objective}']:.9g} ({kind})"
            assert report[f"ratio_{objective}"] == planned[f"ratio_{objective}"] > 1
        assert f"({kind})" in run_command("audit", folder, "--verbose").stdout


def test_digests_are_fetched_from_the_server(written, plan_server, run_command, json_of):
    address, (device, analyst) = plan_server(written("factorization"))
    report = json_of("audit", analyst, "--server", address)
    assert report["holds"]
    assert len(report["checks"]) > 5
    assert len(json_of("audit", device, "--server", f"{address}/")["checks"]) == 1
    error = run_command("audit", "0" * 64, "--server", address, code=2).stderr
    assert "no part of a plan" in error


def test_an_analyst_part_alone_asks_for_its_device_part(written, plan_server, run_command, tmp_path):
    analyst = str(written("subset_selection") / "analyst.cbor")
    (tmp_path / "empty").mkdir()
    address, _ = plan_server(tmp_path / "empty")
    unknown = run_command("audit", analyst, "--server", address, code=2).stderr
    assert "give its device.cbor too" in " ".join(unknown.split())


def test_without_a_server_an_analyst_part_asks_for_its_device_part(written, run_command):
    analyst = str(written("subset_selection") / "analyst.cbor")
    error = run_command("audit", analyst, "--server", "http://127.0.0.1:9", code=2).stderr
    assert "give its device.cbor too" in " ".join(error.split())


@pytest.mark.parametrize("target", ["deadbeef", "no/such/device.cbor"])
def test_what_is_no_file_may_have_been_meant_as_a_digest(run_command, target):
    error = " ".join(run_command("audit", target, code=2).stderr.split())
    assert f"no file or folder {target}, and a digest has 64 lower-case hexadecimal digits" in error


def test_a_server_that_sends_other_bytes_is_not_believed(run_command):
    with hostile_servers() as start:
        address = start(answers(b"other"))
        error = run_command("audit", "0" * 64, "--server", address, code=2).stderr
    assert "do not use it" in " ".join(error.split())


def test_what_is_no_plan_is_said(run_command, tmp_path):
    (tmp_path / "text").write_text("hello")
    assert "is not part of a plan" in run_command("audit", "text", code=2).stderr
    assert "missing.cbor" in run_command("audit", "missing.cbor", code=2).stderr
    assert "be reached" in run_command("audit", "0" * 64, "--server", "http://127.0.0.1:1", code=1).stderr
    (tmp_path / "empty").mkdir()
    assert "device.cbor" in run_command("audit", "empty", code=1).stderr
    (tmp_path / "empty" / "plan.json").write_text("[]")
    assert "does not name the digests" in run_command("audit", "empty", code=2).stderr


STATISTIC = """
name: mixed colours
domain: [{name: colour, kind: categorical, labels: [red, green, %s]}]
statistic: {kind: gini_diversity}
"""


@pytest.fixture
def written_statistic(run_command, tmp_path):
    """Writes a protocol's plan with its first round and returns its folder."""

    def write(protocol, last="blue"):
        (tmp_path / f"{last}.yaml").write_text(STATISTIC % last)
        folder = tmp_path / f"{protocol} {last}"
        asked = ("--file", f"{last}.yaml", "--epsilon", "1", "--users", "1000", "--effort", "quick")
        run_command("plan", *asked, "--protocol", protocol, "--output", str(folder))
        return folder

    return write


@pytest.mark.parametrize("protocol", ["one_round", "one_round_split", "two_round", "two_round_shared", "three_round"])
def test_a_statistic_shows_how_far_made_up_reports_move_it(written_statistic, run_command, json_of, protocol):
    folder = written_statistic(protocol)
    ((form, moved),) = json.loads((folder / "plan.json").read_text())["manipulation"].items()
    report = json_of("audit", str(folder))
    assert report["statistic_manipulation"][form] == pytest.approx(moved, rel=1e-9)
    assert moved["linear"] > 0
    text = " ".join(run_command("audit", str(folder), "--verbose").stdout.split())
    assert "digest of protocol.json" in text
    assert f"{form} by at most {moved['linear']:.4g}·f + {moved['quadratic']:.4g}·f²" in text


def test_a_protocol_is_pinned_by_its_digest_and_goes_with_its_own_first_round(
    written_statistic, plan_server, run_command, json_of
):
    folder, other = written_statistic("one_round"), written_statistic("one_round", "yellow")
    address, (device, analyst, protocol) = plan_server(folder)
    report = json_of("audit", protocol, analyst, "--server", address)
    assert report["statistic_manipulation"] == json_of("audit", str(folder))["statistic_manipulation"]
    assert "statistic_manipulation" not in json_of("audit", device, analyst, "--server", address)
    (folder / "protocol.json").write_bytes((other / "protocol.json").read_bytes())
    assert "digest of protocol.json" in run_command("audit", str(folder), code=1).stderr
    (folder / "plan.json").unlink()
    assert "another domain" in run_command("audit", str(folder), code=2).stderr
    (folder / "protocol.json").write_text("{}")
    assert "is not part of a plan" in run_command("audit", str(folder), code=2).stderr


BROKEN = """import secrets, sys
value, count = int(sys.argv[1]), int(sys.argv[2])
for _ in range(count):
    print(value, "%02x" % value)
"""


def test_an_empirical_audit_accepts_the_installed_sampler_and_refuses_another(written, run_command, json_of, tmp_path):
    folder = str(written("randomized_response"))
    found = json_of("audit", folder, "--empirical", "--draws", "4000")["empirical"]
    assert found["bound"] <= found["claimed"] == 1
    assert found["perfect"] > 0.5
    text = run_command("audit", folder, "--empirical", "--draws", "4000").stdout
    assert "a perfect sampler gives ≥" in text
    assert "finds samplers of ε above about" in text
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    program = ("--sampler", f"{sys.executable} {script}")
    refused = run_command("audit", folder, "--empirical", "--draws", "4000", *program, code=1)
    assert "the sampler leaks more than its plan claims" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (("--draws", "500"), "go with --empirical"),
        (("--empirical", "--sampler", "no-such-program-here"), "does not run"),
        (("--empirical", "--draws", "500", "--sampler", "false"), "ended with 1"),
        (("--empirical", "--draws", "500", "--sampler", "true"), "printed 0 reports"),
        (("--empirical", "--draws", "500", "--sampler", "'open"), "cannot be split into words"),
        (("--empirical", "--draws", "500", "--sampler", "yes"), "prints more than the reports"),
    ],
)
def test_an_empirical_audit_that_cannot_be_made(written, run_command, arguments, mentioned):
    refused = run_command("audit", str(written("randomized_response")), *arguments, code=2)
    assert mentioned in " ".join(refused.stderr.split())
