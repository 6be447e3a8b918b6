"""docker-compose.yml, its commands run as plain processes against a real PostgreSQL, in the order it states."""

from __future__ import annotations

import ipaddress
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.config import PREFIX, Settings
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import CBOR_MEDIA_TYPE, DevicePart, ReportBatch, Task
from tests.e2e.compose import ROOT, image_check, run_check, services, started, without_variables
from tests.patience import PATIENCE_S
from tests.ports import free_ports

Installation = Any
WORKLOAD = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}],
    "queries": "prefix",
}


def _started(installation: Installation, name: str, environment: dict[str, str]) -> Any:
    service = services()[name]
    assert service["command"][0] == "sordino"
    stated = {name: without_variables(text) for name, text in service["environment"].items()}
    # Here the password is in the URL, or nobody asks for one.
    del stated["SORDINO_DATABASE_PASSWORD"]
    return installation.start(*service["command"][1:], **(stated | environment))


def test_the_order_of_the_services() -> None:
    listed = services()
    assert set(started()) == {"postgres", "migrate", "api", "worker"}
    assert listed["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert listed[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert listed["demo"]["profiles"] == ["demo"]
    assert listed["demo"]["depends_on"]["api"] == {"condition": "service_healthy"}
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in ("migrate", "api", "worker", "demo"):
        assert set(listed[name]["environment"]) <= known


def test_every_service_that_goes_on_has_a_health_check_and_time_to_drain() -> None:
    listed = services()
    # By the network: the entrypoint's first server, at the socket alone, is gone a moment later.
    assert listed["postgres"]["healthcheck"]["test"][:4] == ["CMD", "pg_isready", "-h", "127.0.0.1"]
    assert listed["worker"]["healthcheck"]["test"] == ["CMD", "sordino", "health", "--worker"]
    assert "healthcheck" not in listed["api"], "the image's own is used"
    assert image_check() == ["sordino", "health"]
    for name in ("api", "worker"):
        assert listed[name]["init"], "SIGTERM stops it while it starts, too"
        # Docker kills after ten seconds unless told otherwise.
        assert int(listed[name]["stop_grace_period"].removesuffix("s")) > Settings().drain_s + Settings().shutdown_s


def test_the_image_runs_as_somebody_and_starts_the_server() -> None:
    text = (ROOT / "Dockerfile").read_text()
    user = re.search(r"^USER (\d+)$", text, flags=re.MULTILINE)
    assert user is not None
    assert int(user[1]) > 0
    assert f"useradd --uid {user[1]} " in text
    assert 'CMD ["sordino", "serve"]' in text
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, flags=re.MULTILINE)
    assert stages == [
        ("${PYTHON_IMAGE}", "build"),
        ("build", "build-serve"),
        ("${PYTHON_IMAGE}", "base"),
        ("base", "lean"),
        ("scratch", "runtime"),
        ("runtime", "serve"),
        ("runtime", "server"),
        ("${PYTHON_IMAGE}", "build-shuffler"),
        ("${PYTHON_IMAGE}", "shuffler"),
        ("build", "build-spark"),
        ("base", "spark"),
        # Without a target the last one is built.
        ("server", ""),
    ], "what builds is left behind"
    assert re.findall(r"^USER (\d+)$", text, flags=re.MULTILINE)[-1] == user[1], "root only installs Java"


def test_the_image_is_made_of_what_is_sent_to_the_engine() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) (\S+)$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert patterns[0] == "*", "nothing is sent unless it is named"
    assert {pattern[1:] for pattern in patterns if pattern.startswith("!")} == {source for source, _ in copied}
    for source, target in copied:
        assert (ROOT / source).is_dir()
        assert source == target
    for name in ("shared", "client", "server"):
        # What a build reads beside the package.
        assert {"pyproject.toml", "README.md"} <= {path.name for path in (ROOT / name).iterdir()}


def test_the_image_has_a_python_that_the_packages_take_and_keeps_what_they_need() -> None:
    text = (ROOT / "Dockerfile").read_text()
    (version,) = re.findall(r"^ARG PYTHON_IMAGE=python:(\d+\.\d+)-slim@sha256:[0-9a-f]{64}$", text, flags=re.MULTILINE)
    removed = re.search(r"pip uninstall --quiet --yes ([a-z ]+)", text)
    assert removed is not None
    for name in ("shared", "client", "server"):
        project = tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"]
        assert SpecifierSet(project["requires-python"]).contains(version)
        assert not set(removed[1].split()) & {Requirement(need).name for need in project["dependencies"]}


def test_the_extras_of_the_image_are_extras_of_the_server() -> None:
    known = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    defaults = []
    for file in ("docker-compose.yml", "Dockerfile", ".env.example", "docs/operations.md"):
        named = re.findall(r"\bEXTRAS(?::-|=)([a-z,]+)", (ROOT / file).read_text().replace("IMAGE_", ""))
        assert named, file
        defaults += [set(each.split(",")) for each in named]
    assert all(each <= known.keys() for each in defaults)
    assert all({"postgres", "oidc"} <= each for each in defaults)


def test_images_of_others_are_pinned_and_may_be_replaced() -> None:
    for name in ("postgres", "proxy"):
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z]+:\d+@sha256:[0-9a-f]{64}\}", services()[name]["image"]), name
    for file, pins in (("docker-compose.yml", 2), ("Dockerfile", 1)):
        text = (ROOT / file).read_text()
        assert text.count("@sha256:") == text.count("It was never pulled here") == pins, (
            "what nobody has seen is called so"
        )
    for name in ("migrate", "spark-master"):
        assert "PYTHON_IMAGE" in services()[name]["build"]["args"]


def test_every_service_of_ours_has_few_rights_and_writes_to_volumes_alone() -> None:
    for name, service in services().items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["init"], name
        if not name.startswith("spark") and name != "archive":
            assert service["read_only"], name
            assert any(each.startswith("/tmp") for each in service["tmpfs"]), name


def test_ports_are_this_machine_s_unless_said_otherwise() -> None:
    published = [without_variables(port) for service in services().values() for port in service.get("ports", ())]
    proxied = [without_variables(port) for port in services()["proxy"]["ports"]]
    assert proxied == ["80:80", "443:443", "443:443/udp"]
    assert all(port.startswith("127.0.0.1:") for port in published if port not in proxied)


def test_the_proxy_alone_is_trusted() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    edge = {name for name, service in services().items() if "edge" in service.get("networks", ())}
    assert edge == {"api", "proxy"}
    address = without_variables(services()["proxy"]["networks"]["edge"]["ipv4_address"])
    trusted = TrustedProxies.parse(without_variables(services()["api"]["environment"]["SORDINO_TRUSTED_PROXIES"]))
    given = compose["networks"]["edge"]["ipam"]["config"][0]
    network, others = (ipaddress.ip_network(without_variables(given[name])) for name in ("subnet", "ip_range"))
    assert ipaddress.ip_address(address) in network
    # The API is started first, and would get the address.
    assert ipaddress.ip_address(address) not in others
    assert others.subnet_of(network)
    assert trusted.trusts_peer({"client": (address, 1)})
    assert not any(trusted.trusts_peer({"client": (str(other), 1)}) for other in network if str(other) != address)
    upstream = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    assert "reverse_proxy upstream:8000" in upstream
    assert services()["api"]["networks"]["edge"]["aliases"] == ["upstream"]


def test_the_worker_reaches_the_archives_that_it_deletes() -> None:
    folders = {name: service.get("volumes", ()) for name, service in services().items()}
    assert "archives:/archives" in folders["worker"]
    assert "archives:/archives" in folders["archive"]
    assert "backups:/backups" in folders["sordino"]
    assert "install --directory --owner=10001 /archives /backups" in (ROOT / "Dockerfile").read_text()
    assert all("keys:/keys" in services()[name]["volumes"] for name in ("api", "worker", "sordino"))


def test_the_example_of_settings_has_every_variable_of_the_file_and_real_settings() -> None:
    example = (ROOT / ".env.example").read_text()
    written = set(re.findall(r"^#?([A-Z_]+)=", example, flags=re.MULTILINE))
    used = set(re.findall(r"\$\{([A-Z_]+)[:}]", (ROOT / "docker-compose.yml").read_text()))
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    # Of one command, and of commands.
    assert used - written <= {
        "SORDINO_KEY",
        "CONSOLE_ADDRESS",
        "EU_PORT",
        "US_PORT",
        "SORDINO_TRUSTED_PROXIES",
        "SORDINO_PUBLIC_HOSTS",
        "SHUFFLER_TRUSTED_PROXIES",
    }
    assert {name for name in written if name.startswith(PREFIX)} <= known
    assert re.findall(r"^[A-Z_]+=.*$", example, flags=re.MULTILINE) == ["POSTGRES_PASSWORD="]
    assert all(
        service["env_file"] == [{"path": ".env", "required": False}]
        for name, service in services().items()
        if name in ("migrate", "api", "worker", "demo", "sordino", "archive")
    )
    assert not any("env_file" in services()[name] for name in ("collector-eu", "collector-us", "postgres", "proxy"))


def test_one_service_builds_the_image_that_all_use() -> None:
    """Several that build would write one tag at the same time, which fails on a machine that does not have it yet."""
    listed = services()
    own = [service for name, service in listed.items() if name not in ("postgres", "proxy")]
    images = {(service["image"], service["pull_policy"]) for service in own}
    assert images == {("sordino", "never"), ("sordino-shuffler", "never"), ("sordino-spark", "never")}
    built = {name: (service["image"], service["build"]) for name, service in listed.items() if "build" in service}
    arguments = {"PYTHON_IMAGE": None, "EXTRAS": "${IMAGE_EXTRAS:-postgres,oidc}"}
    assert built == {
        "migrate": ("sordino", {"context": ".", "args": arguments}),
        "shuffler": (
            "sordino-shuffler",
            {"context": ".", "target": "shuffler", "args": {"PYTHON_IMAGE": None}},
        ),
        "spark-master": ("sordino-spark", {"context": ".", "target": "spark", "args": arguments}),
    }


def test_the_stated_commands_run_a_campaign_on_postgresql(
    installation: Installation, postgres_url: str, written: Callable[..., str], wait_until: Callable[..., None]
) -> None:
    port, figures, jobs = map(str, free_ports(3))
    key_file = installation.folder / "keys" / "log.key"
    here = {"SORDINO_DATABASE_URL": postgres_url, "SORDINO_METRICS_HOST": "127.0.0.1", "SORDINO_LOG_KEY": str(key_file)}
    early = installation.run("serve", "--no-worker", code=2, **here)
    assert "sordino db upgrade" in early.stderr
    migrate, log = _started(installation, "migrate", here)
    assert migrate.wait(PATIENCE_S) == 0, log.read_text()
    there = here | {"SORDINO_HOST": "127.0.0.1", "SORDINO_PORT": port, "SORDINO_METRICS_PORT": figures}
    api, log = _started(installation, "api", there)
    address = written(api, log, re.compile(r"listening on (http://[\d.:]+)"))
    assert address == f"http://127.0.0.1:{port}"
    beat = {"SORDINO_HEARTBEAT_FILE": str(installation.folder / "worker")}
    worker, _ = _started(installation, "worker", here | beat | {"SORDINO_WORKER_METRICS_PORT": jobs})
    key = installation.json("keys", "create", "--role", "admin", "--name", "test", **here)["key"]
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S) as operator:
        assert operator.get("/readyz").json() == {"status": "ok"}
        assert run_check(image_check(), installation.environment, port) == 0
        check = services()["worker"]["healthcheck"]["test"][1:]
        wait_until(lambda: run_check(check, installation.environment | beat) == 0, "the worker has polled")
        _campaign(operator, wait_until)
        wait_until(lambda: operator.get("/v1/log").json()["size"] == 2, "the campaign and its end are in the log")
    assert (
        'sordino_reports_total{outcome="accepted"} 1000.0'
        in httpx.get(f"http://127.0.0.1:{figures}/metrics", timeout=PATIENCE_S).text
    )
    assert (
        'sordino_jobs_total{kind="round",outcome="done"} 1.0'
        in httpx.get(f"http://127.0.0.1:{jobs}/metrics", timeout=PATIENCE_S).text
    )
    for process in (api, worker):
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_figures_stay_inside_the_network_of_the_containers() -> None:
    listed = services()
    for name, setting in (("api", "SORDINO_METRICS_PORT"), ("worker", "SORDINO_WORKER_METRICS_PORT")):
        stated = listed[name]["environment"]
        assert stated["SORDINO_METRICS_HOST"] == "0.0.0.0"
        assert int(stated[setting]) > 0
        assert not any(stated[setting] in port for port in listed[name].get("ports", ()))


def test_health_checks_fail_where_nothing_is_healthy(installation: Installation, postgres_url: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert run_check(image_check(), installation.environment, str(probe.getsockname()[1])) != 0
    here = installation.environment | {"SORDINO_DATABASE_URL": postgres_url}
    beat = {"SORDINO_HEARTBEAT_FILE": str(installation.folder / "worker")}
    assert run_check(services()["worker"]["healthcheck"]["test"][1:], here | beat) != 0


@pytest.mark.slow
def test_the_demo_profile_leaves_a_finished_campaign(installation: Installation, migrated_postgres_url: str) -> None:
    """The stated shell command, with the API at another address and for fewer devices."""
    here = {"SORDINO_DATABASE_URL": migrated_postgres_url}
    _, address = installation.serve("--worker", **here)
    shell, option, script = services()["demo"]["command"]
    # Compose writes a dollar as two.
    script = script.replace("$$", "$").replace("http://api:8000", address).replace("--users 20000", "--users 500")
    (installation.folder / "sordino").write_text(f'#!/bin/sh\nexec {sys.executable} -m sordino_server "$@"\n')
    (installation.folder / "sordino").chmod(0o755)
    path = f"{installation.folder}:{installation.environment['PATH']}"
    environment = installation.environment | here | {"PATH": path}
    done = subprocess.run(
        [shell, option, script],
        env=environment,
        cwd=installation.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    key = installation.json("keys", "create", "--role", "analyst", "--name", "test", **here)["key"]
    listed = installation.json("campaigns", "list", SORDINO_SERVER=address, SORDINO_KEY=key)
    assert [campaign["state"] for campaign in listed["campaigns"]] == ["closed"], listed
    assert "console: http://127.0.0.1:8000/console/sign-in#" in done.stdout


def _campaign(operator: httpx.Client, wait_until: Callable[..., None]) -> None:
    workload = operator.post("/v1/workloads", json=WORKLOAD, headers={"Idempotency-Key": "w"}).json()["id"]
    order = {"workload": workload, "epsilon": 1}
    plan = operator.post("/v1/plan-requests", json=order, headers={"Idempotency-Key": "p"}).headers["location"]
    wait_until(lambda: operator.get(plan).json()["state"] == "ready", "the plan is ready")
    operator.post(
        "/v1/populations", json={"name": "all", "epsilon_lifetime": None}, headers={"Idempotency-Key": "a"}
    ).raise_for_status()
    terms = {"name": "x", "purpose": "We ask.", "population": "all", "plan_request": plan.rpartition("/")[2]}
    created = operator.post("/v1/campaigns", json=terms, headers={"Idempotency-Key": "c"})
    assert operator.post("/v1/campaigns", json=terms, headers={"Idempotency-Key": "c"}).json() == created.json()
    path = created.headers["location"]
    operator.post(f"{path}/open").raise_for_status()
    body = _batch(operator, path, [0] * 500 + [3] * 500)
    for expected in ((1000, 0), (0, 1000)):
        answer = operator.post(f"{path}/rounds/0/reports", content=body, headers={"content-type": CBOR_MEDIA_TYPE})
        assert answer.status_code == 200, answer.text
        status = operator.get(f"{path}/status").json()
        assert status["rounds"][0]["reports"] == 1000, expected
    operator.post(f"{path}/close").raise_for_status()
    estimates = f"{path}/rounds/0/estimates"
    wait_until(lambda: operator.get(estimates).status_code == 200, "the estimates are computed")
    document = operator.get(estimates).json()
    for value, error in zip(document["table"]["value"], document["table"]["standard_error"], strict=True):
        # Half of the users lie below every edge; six standard errors, and the seed is fixed.
        assert abs(value - 0.5) < 6 * error
    assert operator.get(estimates, params={"format": "csv"}).text.count("\n") == 4
    assert operator.get(estimates).content == operator.get(estimates).content


def _batch(operator: httpx.Client, path: str, cells: list[int]) -> bytes:
    task = Task.read(operator.get(f"{path}/task", headers={"Accept": CBOR_MEDIA_TYPE}).content)
    device = DevicePart.read(operator.get(f"/v1/plans/{task.device_parts[0]}").content, task.device_parts[0])
    randomness = SeededRandomness(7)
    payloads = randomize_many(device.randomizer, np.array(cells), randomness)
    ids = b"".join(task.epoch.to_bytes(2, "big") + randomness.bytes(14) for _ in cells)
    return ReportBatch(device.digest, ids, payloads.tobytes()).content
