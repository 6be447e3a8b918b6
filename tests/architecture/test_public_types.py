"""What is public is typed for its users: mypy, strict, on a program that uses it, and on names that are wrong."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import sordino_analysis
import sordino_client
from sordino_server import simulation

PACKAGES = (sordino_client, sordino_analysis, simulation)
# Any shape of an array; what a coroutine is sent and yields.
_KNOWN = re.compile(r"(builtins\.)?tuple\[Any, \.\.\.\]|Coroutine\[Any, Any, ")
# Values of an app, and documents as JSON has them, may be anything.
ANYTHING = {
    *(f"sordino_analysis.{name}" for name in ("aggregate", "estimate", "items")),  # data frames
    *(f"sordino_analysis.{name}" for name in ("simulate", "simulate_pairwise")),  # data frames
    *(f"sordino_analysis.{name}" for name in ("pairwise_statistic", "workload")),  # a YAML document
    "sordino_analysis.Experiment.simulate",  # data frames
    "sordino_analysis.StringCode.document",
    "sordino_analysis.read_csv",  # values of any attributes
    "sordino_analysis.read_estimates",  # a frame of whichever library is installed
    "sordino_analysis.Workload.truth",  # numbers of any size
    "sordino_client.Account.to_dict",
}
PROGRAM = '''
"""A notebook and an app, as somebody writes them with a strict type checker."""

import numpy as np
import numpy.typing as npt

import sordino_analysis as sa
import sordino_client
from sordino_client import Caps, Client, ClientError, Preview

workload: sa.Workload = sa.prefix([0, 15, 60], name="delay", unit="min")
plan: sa.Plan = sa.plan(workload, epsilon=1)
variance: float = plan.variance
bound: float = plan.bound
run: sa.Simulation = sa.simulate(plan, [1.0, 20.0, 90.0], seed=1)
estimate: sa.Estimate = run.estimate
values: npt.NDArray[np.float64] = estimate.values
counted: sa.Aggregate = run.aggregate


def failed(error: sa.SordinoError) -> tuple[str, str]:
    return error.code, error.advice


caps = Caps.of(1, days=28, lifetime="12")
with Client("https://telemetry.example", ledger="ledger.sqlite3", caps=caps) as client:
    try:
        campaign: sordino_client.Campaign = client.join("0" * 64)
        seen: Preview = client.preview(campaign, 17.0)
        answer: sordino_client.Answer = client.answer(campaign, 17.0)
        sent: int = client.flush().delivered
        account: sordino_client.Account = client.account()
    except ClientError as error:
        code: str = error.code
'''
WRONG = {
    "sa.plan(workload, epsilon=1).variances.no_such_name": "attr-defined",
    'sa.prefix([0, 15], name=3)': "arg-type",
    "number: str = plan.variance": "assignment",
    'Caps.of(1, period=28, lifetime=12)': "call-arg",
    'client.answer("campaign")': "call-arg",
    "sordino_client.Nothing": "attr-defined",
    "text: int = failed(sa.PlanError('x'))[0]": "assignment",
}  # fmt: skip


PLACES = [f"{package.__name__}.{name}" for package in PACKAGES for name in package.__all__]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a user's strict mypy says of three programs, without this project's settings."""
    folder = tmp_path_factory.mktemp("user")
    revealed = [f"reveal_type({each})" for each in _places()]
    programs = {
        "right": PROGRAM,
        "wrong": PROGRAM + "".join(f"{line}\n" for line in WRONG),
        "revealed": "\n".join(
            ["import sordino_analysis", "import sordino_client", "import sordino_server.simulation", *revealed]
        )
        + "\n",
    }
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program)
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary"]
    command += [f"{name}.py" for name in programs]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.splitlines()


def test_a_program_of_a_user_passes(said: list[str]) -> None:
    assert [line for line in said if line.startswith("right.py")] == []


def test_the_slips_of_a_user_are_found(said: list[str]) -> None:
    for number, (line, code) in enumerate(WRONG.items(), PROGRAM.count("\n") + 1):
        assert [each for each in said if each.startswith(f"wrong.py:{number}:") and f"[{code}]" in each], line


def test_no_public_name_is_untyped(said: list[str]) -> None:
    """What mypy takes each public name for, and each method and attribute of the public classes."""
    places = _places()
    revealed = [line for line in said if line.startswith("revealed.py") and "Revealed type" in line]
    assert len(revealed) == len(places) > 200
    types = [_KNOWN.sub("", line.partition(" is ")[2]) for line in revealed]
    assert {place for place, text in zip(places, types, strict=True) if re.search(r"\bAny\b", text)} == ANYTHING


def _places() -> list[str]:
    return PLACES + [f"{place}.{member}" for place in PLACES for member in _members(place)]


def _members(place: str) -> list[str]:
    package, _, name = place.rpartition(".")
    thing = getattr(sys.modules[package], name)
    own = vars(thing) if inspect.isclass(thing) and thing.__module__.startswith("sordino_") else {}
    return [name for name, member in own.items() if not name.startswith("_") and not isinstance(member, ModuleType)]
