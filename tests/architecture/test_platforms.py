"""Without what Windows lacks: the SDK, its testing kit and the commands that need no server run; the others say so."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import yaml
from typer.testing import CliRunner

from sordino_server.cli import app

ROOT = Path(__file__).parents[2]

BLOCKED = """
import os, sys
for name in ("fcntl", "grp", "pwd", "resource"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "geteuid", "getuid", "register_at_fork"):
    if hasattr(os, name):
        delattr(os, name)
"""
DEVICE = """
import tempfile, pathlib
from sordino_client import Caps
from sordino_client.backend import LedgerStore
from sordino_client.consent import Telemetry
from sordino_client.testing import Categorical, Domain, FakeServer, Weekly

server = FakeServer(Domain((Categorical("os", ("linux", "windows"), other=True),)), series=Weekly(slots=1))
caps = Caps.of(1, days=28, lifetime=12)
with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    with server.client(ledger=here / "ledger") as client:
        client.answer(client.join(server.campaign), "windows")
        assert client.flush().delivered == 1
        str(client.account())
    given = {"server": "https://a.example", "transport": server, "clock": server, "caps": caps}
    with LedgerStore(here / "store", key=bytes(32), **given) as store:
        store.owner("maria").answer(store.join(server.campaign), "windows")
        assert store.flush().delivered == 1
    given |= {"campaigns": {"os": server.campaign}, "purpose": "x", "ledger": here / "t", "environ": {}}
    telemetry = Telemetry("tool", **given)
    assert telemetry.turn_on().on
    telemetry.send()
    assert telemetry.answer("os", "windows") is not None
print("done")
"""
COMMAND = """
import sys
sys.argv = ["sordino", *{arguments!r}]
from sordino_server.__main__ import main
main()
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    # `-u` starts a new interpreter (tests/warm_commands.py): a warm one has imported what is blocked here.
    command = [sys.executable, "-u", "-c", BLOCKED + program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_sdk_and_its_testing_kit_run() -> None:
    done = run(DEVICE)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_size_runs() -> None:
    arguments = ("size", "--workload", "histogram", "--size", "3", "--margin", "5%", "--effort", "quick")
    done = run(COMMAND.format(arguments=arguments))
    assert done.returncode == 0, done.stderr
    assert "one answer" in done.stdout


def test_a_command_that_needs_a_unix_says_so_in_a_line() -> None:
    done = run(COMMAND.format(arguments=("serve",)))
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == (
        "error: sordino serve needs Linux or macOS: on Windows, run it in WSL or in a container"
    )


def test_the_blocks_hold() -> None:
    done = run("import os, importlib\nassert not hasattr(os, 'fork')\nimport fcntl")
    assert "ModuleNotFoundError" in done.stderr


def test_what_the_release_workflow_runs_on_each_system_runs() -> None:
    """Also on a system that lacks what is blocked here."""
    program = ROOT / ".github" / "workflows" / "device.py"
    done = run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    assert "spent for life: ε 1" in done.stdout


def test_the_workflow_names_all_systems_versions_and_files_that_exist() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "systems.yml").read_text())
    job = workflow["jobs"]["sdk"]
    matrix = job["strategy"]["matrix"]
    assert matrix == {
        "system": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.11", "3.12", "3.13", "3.14"],
    }
    commands = [step["run"] for step in job["steps"] if "run" in step]
    install, program, *own = [shlex.split(command) for command in commands]
    assert all((ROOT / folder / "pyproject.toml").is_file() for folder in install if folder.startswith("./"))
    assert (ROOT / program[-1]).is_file()
    for _, *arguments in own:
        shown = CliRunner().invoke(app, [arguments[0], "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        assert all(each in shown.output for each in arguments if each.startswith("--"))
