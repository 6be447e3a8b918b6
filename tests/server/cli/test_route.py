"""`sordino campaigns create --route`: a plan, a shuffler's file, and a campaign whose manifest pins both."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_server.cli.experiment import _target_error, arms_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest
from sordino_shared.protocol.routes import ShuffledRoute
from tests.patience import PATIENCE_S
from tests.server.conftest import RunningServer, served

Run = Callable[..., Any]
TERMS = ("--name", "delays", "--purpose", "We ask how late you were.", "--population", "travellers")
PLAN = ("--collector", "1,1e-6", "--target-error", "0.05")


@pytest.fixture
def home(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[RunningServer]:
    """A server that keeps keys of shuffled campaigns, with a worker that works on its own."""
    with served(migrated_sqlite_url, round_keys=tmp_path / "keys") as running:
        worker = running.worker()
        thread = threading.Thread(target=worker.run)
        thread.start()
        yield running
        worker.stop.set()
        thread.join()


@pytest.fixture
def operator(home: RunningServer) -> dict[str, str]:
    return {"SORDINO_SERVER": home.address, "SORDINO_KEY": home.admin_key}


@pytest.fixture
def question(tmp_path: Path) -> tuple[str, str]:
    path = tmp_path / "delays.yaml"
    path.write_text("name: delays\ndomain: [{name: delay, kind: ordinal, edges: [0, 15, 60]}]\nqueries: prefix\n")
    return "--workload", str(path)


@pytest.fixture
def route(home: RunningServer, tmp_path: Path) -> Callable[..., str]:
    """A file with a route, some members of which are changed; a member that is None is left out."""
    sound = {
        "name": "mix", "urls": ["https://mix.example"], "key": "ab" * 32, "floor": 50, "end": home.clock.now() + 3600
    }  # fmt: skip

    def written(**changes: Any) -> str:
        path = tmp_path / "mix.json"
        path.write_text(json.dumps({name: value for name, value in (sound | changes).items() if value is not None}))
        return str(path)

    return written


def test_a_campaign_behind_the_shuffler_of_a_file(
    run_command: Run, json_of: Run, home: RunningServer, operator: dict[str, str], question: tuple[str, str], route: Any
) -> None:
    order = ("campaigns", "create", *TERMS, *question, "--epsilon", "4", *PLAN, "--route", route(), "--open")
    status = json_of(*order, **operator)
    assert (status["state"], status["shuffler"], status["epsilon"]) == ("open", "mix", 4.0)
    assert status["rounds"][0]["batch"]["state"] == "receiving"
    manifest = Manifest.read(home.anonymous.get(f"/v1/campaigns/{status['id']}").raise_for_status().content)
    pinned = manifest.route
    assert isinstance(pinned, ShuffledRoute)
    assert (pinned.shuffler.urls, pinned.shuffler.key.hex(), pinned.floor) == (("https://mix.example",), "ab" * 32, 50)
    assert (pinned.end, pinned.claims[pinned.headline].nano_epsilon) == (home.clock.now() + 3600, 10**9)
    assert pinned.blanket == status["question"]["blanket"]["reports"] > 0
    shown = run_command("campaigns", "show", status["id"][:12], **operator).stdout
    assert "round 0: mix takes reports until" in shown


EXPERIMENT = ("--primary", "delay ≤ 0", "--days", "3", "--daily", "500", "--epsilon", "4")


def test_an_experiment_behind_the_shuffler_of_a_file(
    run_command: Run, json_of: Run, home: RunningServer, operator: dict[str, str], question: tuple[str, str], route: Any
) -> None:
    file = ("--file", question[1])
    order = ("experiment", "create", *TERMS, *file, *EXPERIMENT, *PLAN, "--route", route(end=None))
    status = json_of(*order, "--arms", "A:3,B:1", "--open", **operator)
    assert [(arm["name"], arm["weight"], arm["users"]) for arm in status["arms"]] == [("A", 49152, 0), ("B", 16384, 0)]
    manifest = Manifest.read(home.anonymous.get(f"/v1/campaigns/{status['id']}").raise_for_status().content)
    assert isinstance(manifest.route, ShuffledRoute)
    assert manifest.route.end == home.clock.now() + 3 * 86_400
    shown = json_of("experiment", "show", status["id"][:12], **operator)
    assert (shown["looks"], shown["blanket"], shown["made"]) == ("end", manifest.route.blanket, [])
    said = run_command("experiment", "show", status["id"][:12], **operator).stdout
    assert "the only one is made when the experiment is closed" in said
    refused = run_command(*order, "--looks", "planned", code=2, **operator).stderr
    assert "an experiment has one look: say `end`, or leave looks out" in " ".join(refused.split())
    other = (*order[:-1], route())
    assert "takes reports for 1 day from now" in " ".join(run_command(*other, code=2, **operator).stderr.split())


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"key": "ab"}, "/route/key"),
    ({"key": None}, "/route/key"),
    ({"urls": []}, "/route/urls"),
    ({"urls": ["mix.example"]}, "mix.example"),
    ({"urls": ["https://mix.example"] * 5}, "/route/urls"),
    ({"floor": 0}, "/route/floor"),
    ({"floor": 10**9}, "/route/floor"),
    ({"end": 1}, "it is past"),
    ({"end": "tomorrow"}, "/route/end"),
    ({"blanket": 5}, "/route/blanket"),
    ({"name": ""}, "/route/name"),
)


def test_a_route_that_is_none_is_refused_and_makes_no_campaign(
    run_command: Run, home: RunningServer, operator: dict[str, str], route: Any, tmp_path: Path
) -> None:
    plan = _ready(home, epsilon=4, mechanism=None, target_error=0.05, collector={"epsilon": 1, "delta": 1e-6})
    order = ("campaigns", "create", *TERMS, "--plan-request", plan)
    for changes, sentence in REFUSED:
        refused = run_command(*order, "--route", route(**changes), code=2, **operator)
        assert sentence in refused.stderr, changes
    for content, sentence in ((None, "cannot be read"), ("{", "cannot be read as JSON"), ("[]", "/route")):
        file = tmp_path / f"{sentence.replace('/', '')}.json"
        if content is not None:
            file.write_text(content)
        assert sentence in run_command(*order, "--route", str(file), code=2, **operator).stderr
    assert home.api.get("/v1/campaigns").json()["campaigns"] == []


def test_a_plan_of_another_kind_is_refused(
    run_command: Run, home: RunningServer, operator: dict[str, str], question: tuple[str, str], route: Any
) -> None:
    direct = ("campaigns", "create", *TERMS, "--plan-request", _ready(home), "--route", route())
    assert "plan with collector" in run_command(*direct, code=2, **operator).stderr
    behind = _ready(home, epsilon=4, mechanism=None, target_error=0.05, collector={"epsilon": 1, "delta": 1e-6})
    without = ("campaigns", "create", *TERMS, "--plan-request", behind)
    assert "/route" in run_command(*without, code=2, **operator).stderr
    weak = ("campaigns", "create", *TERMS, *question, "--epsilon", "6", *PLAN, "--route", route())
    assert "--weak-epsilon" in run_command(*weak, code=2, **operator).stderr
    before = home.api.get("/v1/plan-requests").json()
    nowhere = ("campaigns", "create", *TERMS, *question, "--epsilon", "4", *PLAN)
    assert "name it with --route FILE" in run_command(*nowhere, code=2, **operator).stderr
    experiment = ("experiment", "create", *TERMS, "--file", question[1], *EXPERIMENT, *PLAN)
    assert "name it with --route FILE" in run_command(*experiment, code=2, **operator).stderr
    # Nobody waits for a plan that no campaign can use.
    assert home.api.get("/v1/plan-requests").json() == before
    assert home.api.get("/v1/campaigns").json()["campaigns"] == []


def _ready(home: RunningServer, **order: Any) -> str:
    """Id of a plan request that the worker has computed."""
    path = f"/v1/plan-requests/{home.plan_request(**order)['id']}"
    until = time.monotonic() + PATIENCE_S
    while (found := home.api.get(path).raise_for_status().json())["state"] != "ready":
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return str(found["id"])


def test_a_weak_epsilon_is_taken_where_it_is_asked_for(
    json_of: Run, operator: dict[str, str], question: tuple[str, str], route: Any
) -> None:
    order = ("campaigns", "create", *TERMS, *question, "--epsilon", "6", *PLAN, "--route", route(), "--weak-epsilon")
    assert 4 < json_of(*order, **operator)["epsilon"] <= 6


def test_a_difference_chooses_the_error_of_an_arm(tmp_path: Path) -> None:
    """2 % between two equal arms with a power of 80 %: .02/2.8016/√2; in ms of a mean from 0 to 5,000."""
    file, arms = tmp_path / "starts.yaml", arms_of("A:1,B:1")
    domain = "domain: [{name: load_ms, kind: number, low: 0, high: 5000, unit: ms}]"
    file.write_text(f"name: starts\n{domain}\nqueries: {{load_ms: mean}}")
    for difference in ("2%", "100 ms"):
        found = _target_error(file, difference, "1,1e-6", None, arms)
        assert found == pytest.approx(100 / 2.8016 / 2**0.5, rel=1e-4)
    for terms, said in (((None, None), "goes with --collector"), (("1,1e-6", 3.0), "in place of --target-error")):
        with pytest.raises(InvalidValue, match=said):
            _target_error(file, "2%", *terms, arms)
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        _target_error(file, "200%", "1,1e-6", None, arms)
