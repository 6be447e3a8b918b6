"""`sordino campaigns` against a running server: what it prints, and what it says when it fails."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from sordino_server import rounds
from sordino_server.answers import picture
from sordino_server.campaigns import retention
from sordino_server.cli.output import moment
from sordino_server.cli.wait import Patience, StillWaiting
from sordino_server.cli.watch import watch
from sordino_server.models import Round
from sordino_shared.protocol import Manifest
from tests.patience import PATIENCE_S

Run = Callable[..., Any]
TERMS = ("--name", "delays", "--purpose", "We ask how late you were.", "--population", "travellers")


@pytest.fixture
def operator(running: Any) -> dict[str, str]:
    """The environment of commands that work on the running server."""
    return {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}


@pytest.fixture
def working(running: Any) -> Iterator[None]:
    """A worker that works on its own while a command waits for it."""
    worker = running.worker()
    thread = threading.Thread(target=worker.run)
    thread.start()
    yield
    worker.stop.set()
    thread.join()


@pytest.fixture
def workload_file(tmp_path: Path) -> Path:
    path = tmp_path / "delays.yaml"
    path.write_text("name: delays\ndomain: [{name: delay, kind: ordinal, edges: [0, 15, 60]}]\nqueries: prefix\n")
    return path


@pytest.mark.usefixtures("working")
def test_a_campaign_from_a_workload_file(
    run_command: Run, json_of: Run, operator: dict[str, str], workload_file: Path
) -> None:
    plan = ("--workload", str(workload_file), "--epsilon", "0.5", "--mechanism", "subset_selection")
    created = json_of("campaigns", "create", *TERMS, *plan, "--open", **operator)
    assert (created["state"], created["name"]) == ("open", "delays")
    listed = run_command("campaigns", "list", **operator).stdout
    assert created["id"] in listed
    shown = ["delays: open, 0 reports", "delays, 3 answers, ε = 0.5 of one device"]
    assert run_command("campaigns", "show", created["id"], **operator).stdout.splitlines() == shown
    shown = run_command("campaigns", "show", created["id"], "--verbose", **operator).stdout
    assert "delays, for travellers: open" in shown
    assert "round 0: open, 0 reports" in shown


def test_a_crowd_that_is_too_small_opens_only_anyway(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    plan = ("campaigns", "create", *TERMS, "--plan-request", running.ready_plan()["id"])
    refused = run_command(*plan, "--users", "100", "--open", code=2, **operator).stderr
    assert "too few to tell" in refused
    assert "--anyway opens it all the same" in refused
    assert "--anyway goes with --open" in run_command(*plan, "--anyway", code=2, **operator).stderr
    assert running.api.get("/v1/campaigns").json()["campaigns"] == []
    # Each round closes after some reports: those are the crowd where nobody says how many there are.
    closing = ("--close-after-reports", "100", "--open")
    assert "too few to tell" in run_command(*plan, *closing, code=2, **operator).stderr
    # However many users there are, no more reports come.
    assert "with 100 reports" in run_command(*plan, *closing, "--users", "100000", code=2, **operator).stderr
    warned = run_command(*plan, "--users", "100", **operator)
    assert "warning: with 100 reports an answer may be off by" in warned.stderr
    running.clock.advance(1)
    assert json_of(*plan, "--users", "100", "--open", "--anyway", **operator)["state"] == "open"
    running.clock.advance(1)
    hint = run_command(*plan, "--open", **operator).stderr
    assert "each answer within ± 10 % of its scale" in hint
    running.clock.advance(1)
    assert "of its scale" not in run_command(*plan, "--users", "100000", **operator).stderr


def test_a_campaign_from_a_plan_that_is_not_ready_is_refused(
    run_command: Run, running: Any, operator: dict[str, str]
) -> None:
    order = {"workload": running.workload(), "epsilon": 1, "objective": "max"}
    request = running.api.post("/v1/plan-requests", json=order).raise_for_status().json()["id"]
    refused = run_command("campaigns", "create", *TERMS, "--plan-request", request, code=2, **operator).stderr
    assert f"plan request {request} is queued; wait until its state is ready" in " ".join(refused.split())


def test_a_campaign_from_a_plan_that_is_ready(json_of: Run, running: Any, operator: dict[str, str]) -> None:
    request = running.ready_plan()["id"]
    created = json_of("campaigns", "create", *TERMS, "--plan-request", request, **operator)
    assert created["state"] == "ready"
    assert json_of("campaigns", "open", created["id"], **operator)["state"] == "open"
    assert json_of("campaigns", "cancel", created["id"], **operator)["state"] == "cancelled"


def test_the_purpose_in_another_language_is_given_by_an_option(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    plan = ("--plan-request", running.ready_plan()["id"])
    created = json_of("campaigns", "create", *TERMS, *plan, "--text", "de=Wir fragen: A=B?", **operator)
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{created['id']}").content)
    assert [(each.language, each.purpose) for each in manifest.texts] == [("de", "Wir fragen: A=B?")]
    refused = run_command("campaigns", "create", *TERMS, *plan, "--text", "Wir fragen.", code=2, **operator)
    assert "--text: write a language and the purpose in it, such as de=TEXT" in refused.stderr


def test_names_are_listed_whole_and_as_they_are(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    """In a window of 40 columns, which cuts no id; brackets are no markup."""
    name = "delays [/] of [bold]flights"
    terms = {"name": name, "purpose": "We ask.", "population": "travellers"}
    campaign = running.api.post("/v1/campaigns", json=terms | {"plan_request": running.ready_plan()["id"]}).json()
    line = run_command("campaigns", "list", COLUMNS="40", **operator).stdout.splitlines()[1]
    assert line.split()[:2] == [campaign["id"], "ready"]
    assert name in line


def test_an_upload_token_is_printed_once(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    order = ("--plan-request", running.ready_plan()["id"], "--upload-token", "--open")
    done = run_command("campaigns", "create", *TERMS, *order, **operator)
    assert done.stdout.splitlines()[-1].startswith("sdo_uploader_")
    assert json_of("campaigns", "list", **operator)["campaigns"][0]["state"] == "open"


def test_the_predicted_error_is_printed_for_the_users_expected(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    request = running.ready_plan(users=4000)
    expected = request["summary"]["predicted_max_rmse"]
    done = run_command("campaigns", "create", *TERMS, "--plan-request", request["id"], **operator)
    assert f"predicted error with 4,000 users: {expected:.3g}" in done.stdout
    other = ("--purpose", "We ask once more.", "--plan-request", running.ready_plan()["id"])
    assert json_of("campaigns", "create", *TERMS, *other, **operator)["predicted"]["rmse_wanted"] is None


def test_drafts_are_archived_restored_and_deleted(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    draft = running.campaign()["id"]
    assert json_of("campaigns", "archive", "delays", **operator)["archived_at"] == running.clock.now()
    assert json_of("campaigns", "list", **operator)["campaigns"] == []
    assert [each["id"] for each in json_of("campaigns", "list", "--archived", **operator)["campaigns"]] == [draft]
    json_of("campaigns", "restore", draft, **operator)
    assert json_of("campaigns", "delete", draft[:8], **operator) == {"deleted": draft}
    assert "no campaign" in run_command("campaigns", "show", "delays", code=2, **operator).stderr


def test_a_plan_request_is_cancelled(run_command: Run, json_of: Run, running: Any, operator: dict[str, str]) -> None:
    request = running.plan_request()["id"]
    assert f"plan request {request}: queued" in run_command("plan-requests", "show", request, **operator).stdout
    assert json_of("plan-requests", "cancel", request, **operator)["state"] == "cancelled"
    assert "cancelled" in run_command("plan-requests", "list", **operator).stdout
    assert "already" in run_command("plan-requests", "cancel", request, code=2, **operator).stderr


def test_a_campaign_is_audited_by_its_id_alone_and_by_name_with_a_key(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    campaign = running.campaign()["id"]
    audited = json_of("audit", campaign, "--server", running.address)
    assert audited["holds"]
    names = {check["name"] for check in audited["checks"]}
    assert {"ε", "ε of one device", "round 0: ε", "round 0: plan", "max variance", "lower bound, max"} <= names
    assert audited["manipulation"]
    assert json_of("audit", "delays", **operator)["checks"] == audited["checks"]
    unnamed = run_command("audit", "delays", "--server", running.address, code=2)
    assert "with --key it may be the name of a campaign" in unnamed.stderr
    other = running.ready_plan(epsilon=2)["device_digest"]
    running.database.run("test", lambda session: session.execute(update(Round).values(device_digest=other)))
    assert "round 0: plan" in run_command("audit", campaign, "--server", running.address, code=1).stderr


def test_a_campaign_that_cannot_be_opened_is_printed_with_its_token(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    json_of("populations", "create", "travellers", "--lifetime", "0.5", **operator)
    order = ("--plan-request", running.ready_plan()["id"], "--upload-token", "--open")
    done = run_command("campaigns", "create", *TERMS, *order, code=2, **operator)
    assert json_of("campaigns", "list", **operator)["campaigns"][0]["id"] in done.stdout
    assert done.stdout.splitlines()[-1].startswith("sdo_uploader_")
    said = " ".join(done.stderr.split())
    assert "of ε = 0.5 that population 'travellers' allows" in said
    assert "open it later, or cancel it" in said
    running.clock.advance(1)
    again = run_command("campaigns", "create", *TERMS, *order, "--json", code=2, **operator)
    assert (status := json.loads(again.stdout))["state"] == "ready"
    assert status["upload_token"].startswith("sdo_uploader_")


def test_a_round_says_when_its_reports_went(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    running.clock.advance(1)
    (old,) = retention.old_reports(running.database, 0, running.clock.now())
    retention.purge(running.database, old, running.clock.now())
    shown = run_command("campaigns", "show", campaign["id"], "--verbose", **operator).stdout
    assert f"round 0: estimated, 3 reports, purged {moment(running.clock.now())}" in shown


def test_estimates_in_three_forms(run_command: Run, json_of: Run, running: Any, operator: dict[str, str]) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3] * 10)
    run_command("campaigns", "close", campaign["id"], **operator)
    running.work()
    document = json_of("campaigns", "estimates", campaign["id"], **operator)
    assert document["terms"]["users"] == 40
    table = run_command("campaigns", "estimates", campaign["id"], **operator).stdout
    assert "delay ≤ 15 min" in table
    assert "40 users, ε = 1, mechanism randomized_response" in table
    text = run_command("campaigns", "estimates", campaign["id"], "--csv", **operator).stdout
    values = [float(row["value"]) for row in csv.DictReader(io.StringIO(text))]
    assert values == document["table"]["value"]
    run_command("campaigns", "estimates", campaign["id"], "--chart", "estimate.svg", **operator)
    content = running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").content
    assert Path("estimate.svg").read_text(encoding="utf-8") == picture.draw(content, "delays")
    nowhere = run_command("campaigns", "estimates", campaign["id"], "--chart", "no/where.svg", code=2, **operator)
    assert "no/where.svg" in nowhere.stderr
    unknown = run_command("campaigns", "estimates", "0" * 64, "--chart", "none.svg", "--no-wait", code=2, **operator)
    assert "there is no campaign" in unknown.stderr
    assert not Path("none.svg").exists()


def test_answers_on_demand_in_three_forms(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3] * 10)
    run_command("campaigns", "close", campaign["id"], **operator)
    running.work()
    asked = ("campaigns", "answers", campaign["id"], "--range", "..15", "--range", "0..60")
    document = json_of(*asked, "--chart", "answers.svg", **operator)
    assert "the band holds 9 answers at once" in Path("answers.svg").read_text(encoding="utf-8")
    assert document["table"]["label"] == ["delay ≤ 15 min", "0 < delay ≤ 60 min"]
    table = run_command(*asked, **operator).stdout
    assert "0 < delay ≤ 60 min" in table
    assert "the band holds 9 answers at once" in table
    text = run_command(*asked, "--csv", **operator).stdout
    values = [float(row["value"]) for row in csv.DictReader(io.StringIO(text))]
    assert values == document["table"]["value"]
    same = json_of("campaigns", "answers", campaign["id"], "--rectangle", "delay:0..60", **operator)["table"]
    assert same["value"] == document["table"]["value"][1:]
    median = run_command("campaigns", "answers", campaign["id"], "--quantile", "0.5", **operator).stdout
    assert "0.5 quantile of delay" in median
    for wrong, mentioned in (
        ((), "give one of"),
        (("--quantile", "2"), "between 0 and 1"),
        (("--range", "7.."), "no edge"),
    ):
        refused = run_command("campaigns", "answers", campaign["id"], *wrong, code=2, **operator)
        assert mentioned in " ".join(refused.stderr.split())


def test_estimates_are_waited_for(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close")
    at_once = run_command("campaigns", "estimates", campaign["id"], "--no-wait", code=2, **operator)
    assert "no worker has taken it yet" in at_once.stderr
    worker = threading.Timer(0.5, running.work)
    worker.start()
    try:
        waited = run_command("campaigns", "estimates", campaign["id"], "--json", **operator)
    finally:
        worker.join()
    assert json.loads(waited.stdout)["terms"]["users"] == 4


@pytest.mark.usefixtures("working")
def test_stages_of_the_plan_are_told_without_a_terminal(
    run_command: Run, operator: dict[str, str], workload_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a worker may need longer than the hint's ten seconds.
    monkeypatch.setattr("sordino_server.cli.wait._HINT_S", 600)
    done = run_command("campaigns", "create", *TERMS, "--workload", str(workload_file), "--epsilon", "1", **operator)
    assert "planning, 0 %: queued" in done.stderr
    assert "planning, 100 %: ready" in done.stderr
    assert "is `sordino worker` running?" not in done.stderr


def test_a_plan_that_no_worker_takes_is_waited_for_with_a_hint_and_an_end(
    run_command: Run, running: Any, operator: dict[str, str], workload_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino_server.cli.wait._HINT_S", 0.3)
    plan = ("--workload", str(workload_file), "--epsilon", "1", "--timeout", "1.5")
    done = run_command("campaigns", "create", *TERMS, *plan, code=2, **operator)
    assert done.stderr.count("no worker has taken it yet; is `sordino worker` running?") == 1
    request = running.api.get("/v1/plan-requests").json()["plan_requests"][0]["id"]
    said = " ".join(done.stderr.split())
    assert "nothing is ready after 1.5 s" in said
    assert f"--plan-request {request}" in said
    running.work()
    run_command("campaigns", "create", *TERMS, "--plan-request", request, **operator)


def test_the_hint_comes_also_where_the_end_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll on a busy machine takes longer than both."""
    monkeypatch.setattr("sordino_server.cli.wait._HINT_S", 0.0)
    printed: list[str] = []
    with pytest.raises(StillWaiting, match="nothing is ready after 0 s; come back"):
        Patience(0.0, printed.append).pause("is one running?", "come back")
    assert printed == ["is one running?"]


def test_estimates_that_no_worker_computes_are_waited_for_with_a_hint_and_an_end(
    run_command: Run, running: Any, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino_server.cli.wait._HINT_S", 0.3)
    campaign = running.campaign("open", "close")["id"]
    done = run_command("campaigns", "estimates", campaign, "--timeout", "1.5", code=2, **operator)
    assert done.stderr.count("is `sordino worker` running?") == 1
    assert f"sordino campaigns estimates {campaign}" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (("--epsilon", "0"), "above 0"),
        (("--epsilon", "-1"), "above 0"),
        (("--epsilon", "99"), "from 0.001 to 16"),
        (("--epsilon", "4.000000001"), "54.6 times as likely with one value as with another"),
        (("--epsilon", "16"), "add --weak-epsilon"),
        (("--epsilon", "many"), "number"),
        (("--epsilon", "1", "--mechanism", "magic"), "randomized_response"),
        (("--epsilon", "1", "--plan-request", "0" * 32), "either"),
        ((), "--epsilon"),
    ],
)
def test_terms_that_are_refused(
    run_command: Run, operator: dict[str, str], workload_file: Path, arguments: tuple[str, ...], mentioned: str
) -> None:
    done = run_command("campaigns", "create", *TERMS, "--workload", str(workload_file), *arguments, code=2, **operator)
    assert mentioned in done.stderr.replace("\n", " ")


def test_a_plan_of_weak_epsilon_is_taken_where_it_is_asked_for(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    weak = ("campaigns", "create", *TERMS, "--plan-request", running.ready_plan(epsilon=6)["id"])
    assert "403 times as likely" in run_command(*weak, code=2, **operator).stderr
    assert json_of("campaigns", "list", **operator)["campaigns"] == []
    assert json_of(*weak, "--weak-epsilon", **operator)["epsilon"] == 6
    assert json_of("campaigns", "create", *TERMS, "--plan-request", running.ready_plan(epsilon=4)["id"], **operator)


@pytest.mark.parametrize(
    ("content", "mentioned"),
    [
        ("name: x\ndomain: [{name: d, kind: ordinal, edges: [0]}]\nqueries: median\n", "histogram"),
        ("name: x\ndomain: [{name: d, kind: ordinal, edges: []}]\nqueries: prefix\n", "two"),
        ("[", "YAML"),
        (None, "absent.yaml"),
    ],
)
def test_workload_files_that_are_refused(
    run_command: Run, operator: dict[str, str], tmp_path: Path, content: str | None, mentioned: str
) -> None:
    path = tmp_path / ("absent.yaml" if content is None else "bad.yaml")
    if content is not None:
        path.write_text(content)
    done = run_command("campaigns", "create", *TERMS, "--workload", str(path), "--epsilon", "1", code=2, **operator)
    assert mentioned in done.stderr.replace("\n", "")


@pytest.mark.usefixtures("working")
def test_a_plan_that_fails_is_told(
    run_command: Run, running: Any, operator: dict[str, str], workload_file: Path
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError

    running.compute = refuse
    plan = ("--workload", str(workload_file), "--epsilon", "1")
    done = run_command("campaigns", "create", *TERMS, *plan, code=2, **operator)
    assert "the plan failed" in done.stderr


def test_an_action_that_the_state_forbids(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    campaign = running.campaign("open", "close")
    done = run_command("campaigns", "open", campaign["id"], code=2, **operator)
    assert "from closed to open" in done.stderr


def test_servers_that_do_not_answer(run_command: Run) -> None:
    done = run_command("campaigns", "list", "--server", "http://127.0.0.1:9", "--key", "sdo_x", code=1)
    assert "cannot be reached" in done.stderr
    done = run_command("campaigns", "list", "--server", "elsewhere", code=2)
    assert "http://" in done.stderr


@pytest.mark.parametrize("key", ["sdo_admin_0000000000000000_0", "häh", "a\nb"])
def test_wrong_keys(run_command: Run, running: Any, key: str) -> None:
    done = run_command("campaigns", "list", "--server", running.address, "--key", key, code=2)
    assert "key" in done.stderr


@pytest.mark.parametrize("campaign", ["delays", "0" * 63, "0" * 65, "../keys", "A" * 64])
def test_a_campaign_that_does_not_exist(run_command: Run, operator: dict[str, str], campaign: str) -> None:
    for command in (["show"], ["open"], ["close-round"], ["estimates"], ["watch"]):
        index = ["0"] if command == ["close-round"] else []
        said = run_command("campaigns", *command, campaign, *index, code=2, **operator).stderr
        assert "no campaign has the name or the id" in said
        assert "sordino campaigns list" in said


def test_a_campaign_is_named_by_its_name_or_the_first_digits_of_its_id(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    plan = ("--plan-request", running.ready_plan()["id"])
    first = json_of("campaigns", "create", *TERMS, *plan, **operator)["id"]
    for text in ("delays", first[:4], first[:63], first):
        assert json_of("campaigns", "open" if text == "delays" else "show", text, **operator)["id"] == first
    running.clock.advance(1)
    second = json_of("campaigns", "create", *TERMS, *plan, **operator)["id"]
    said = run_command("campaigns", "show", "delays", code=2, **operator).stderr
    assert "means 2 campaigns" in said
    assert first[:12] in said
    assert second[:12] in said


def test_a_list_has_the_campaigns_that_agree_with_every_option(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str]
) -> None:
    campaign = running.campaign("open")
    running.clock.advance(86400)
    terms = ("--name", "delays again", *TERMS[2:], "--plan-request", running.ready_plan()["id"])
    later = json_of("campaigns", "create", *terms, **operator)

    def listed(*options: str) -> list[str]:
        return [row["id"] for row in json_of("campaigns", "list", *options, **operator)["campaigns"]]

    assert listed() == [later["id"], campaign["id"]]
    assert listed("--state", "open") == [campaign["id"]]
    assert listed("--name", later["name"], "--population", later["population"]) == [later["id"]]
    assert listed("--name", "delay") == []
    day = datetime.fromtimestamp(later["created_at"], UTC)
    assert listed("--since", day.strftime("%Y-%m-%dT%H:%M")) == [later["id"]]
    assert listed("--since", (day - timedelta(days=2)).strftime("%Y-%m-%d")) == [later["id"], campaign["id"]]
    assert "2026-13-45" in run_command("campaigns", "list", "--since", "2026-13-45", code=2, **operator).stderr
    for wrong in ({"state": "shut"}, {"id_prefix": "xyz"}, {"since": -1}, {"names": "delays"}):
        assert running.api.get("/v1/campaigns", params=wrong).status_code == 422


def test_watching_ends_with_the_estimates(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker works between two looks."""
    monkeypatch.setattr("sordino_server.cli.campaigns.watch", partial(watch, sleep=lambda _: running.work()))
    campaign = running.campaign("open")
    running.report(campaign, [index % 3 for index in range(40)])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close")
    said = run_command("campaigns", "watch", campaign["id"][:8], "--every", "0.1", **operator).stdout.splitlines()
    assert said[0].endswith("closed, 40 reports; round 0 closed")
    assert said[-1].endswith("closed, 40 reports; round 0 estimated")
    assert json_of("campaigns", "watch", campaign["id"], **operator)["rounds"][0]["state"] == "estimated"


def test_a_key_that_is_left_out(run_command: Run, running: Any) -> None:
    done = run_command("campaigns", "list", "--server", running.address, code=2)
    assert "give --key, or set SORDINO_KEY" in " ".join(done.stderr.split())
    assert "Bearer" not in done.stderr


GINI = """
name: mixed colours
domain: [{name: colour, kind: categorical, labels: [red, green, blue]}]
statistic: {kind: gini_diversity}
"""


@pytest.mark.usefixtures("working")
def test_a_statistic_in_two_rounds(
    run_command: Run, json_of: Run, running: Any, operator: dict[str, str], tmp_path: Path
) -> None:
    """The first round closes by its count, the second by hand; 300 reports in each, told without any device."""
    (tmp_path / "gini.yaml").write_text(GINI)
    plan = ("--workload", str(tmp_path / "gini.yaml"), "--epsilon", "1", "--users", "600", "--protocol", "two_round")
    rules = ("--close-after-reports", "300", "--close-after-reports", "0")
    created = json_of("campaigns", "create", *TERMS, *plan, *rules, "--open", **operator)
    assert (created["planned_rounds"], created["rounds"][0]["close_after_reports"]) == (2, 300)
    for index in range(2):
        running.report(created, [number % 3 for number in range(300)], seed=index, index=index)
        if index == 0:
            _await_second_round(json_of, created["id"], operator)
    assert "2 of 2 rounds started" in run_command("campaigns", "show", created["id"], **operator).stdout
    assert "2 rounds, protocol plan" in run_command("campaigns", "show", created["id"], "--verbose", **operator).stdout
    closed = json_of("campaigns", "close-round", created["id"], "1", **operator)
    assert (closed["state"], closed["rounds"][1]["state"]) == ("closed", "closed")
    text = run_command("campaigns", "estimates", created["id"], **operator).stdout
    assert re.search(r"mixed colours +0\.", text)
    assert "round 1: 300 reports of" in text
    document = json_of("campaigns", "estimates", created["id"], **operator)
    assert document["terms"]["mechanism"] == "two_round"
    table = run_command("campaigns", "estimates", created["id"], "--csv", **operator).stdout
    assert [row["label"] for row in csv.DictReader(io.StringIO(table))] == ["mixed colours"]


def _await_second_round(json_of: Run, campaign: str, operator: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if len(json_of("campaigns", "show", campaign, **operator)["rounds"]) == 2:
            return
        time.sleep(0.05)
    pytest.fail("the second round was not opened")


def test_a_round_that_did_not_fail_is_not_tried_again(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    campaign = running.campaign("open")["id"]
    said = run_command("campaigns", "retry-round", campaign, "0", code=2, **operator).stderr
    assert "did not fail" in said


def test_a_failed_round_shows_the_command_that_has_it_tried_again(
    run_command: Run, running: Any, operator: dict[str, str]
) -> None:
    campaign = running.campaign("open", "close")["id"]
    running.work()
    for more in ((), ("--verbose",)):
        shown = " ".join(run_command("campaigns", "show", campaign, *more, **operator).stdout.split())
        assert f"(when the cause is removed: sordino campaigns retry-round {campaign[:12]} 0)" in shown


def test_estimates_that_a_worker_computes_for_long_are_waited_for_without_doubt(
    run_command: Run, running: Any, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino_server.cli.wait._HINT_S", 0.3)
    campaign = running.campaign("open", "close")["id"]
    with running.database.write("test claim") as session:
        assert rounds.claim_closed_round(session, owner="w", now=running.clock.now(), seconds=60) is not None
    done = run_command("campaigns", "estimates", campaign, "--timeout", "1.5", code=2, **operator)
    assert done.stderr.count("a worker is computing the estimates") == 1
    assert "sordino worker" not in done.stderr
    at_once = run_command("campaigns", "estimates", campaign, "--no-wait", code=2, **operator)
    assert "is being computed" in at_once.stderr
    # The worker died: its lease ran out, and nobody renews it.
    running.clock.advance(61)
    left = run_command("campaigns", "estimates", campaign, "--timeout", "1.5", code=2, **operator)
    assert left.stderr.count("is `sordino worker` running?") == 1
