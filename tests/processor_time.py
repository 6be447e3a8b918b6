"""Processor seconds of the tests by folder, printed at the end of a run: a folder's share of what `make test` costs.

Each test's own seconds are those of its worker and of the children that ended meanwhile. Processes that outlive tests
(fork servers, PostgreSQL) are in the whole run's seconds alone. `build/processor_seconds.json` gets them for
`python -m tests.budget`.
"""

from __future__ import annotations

import json
import os
import resource
from collections import Counter
from collections.abc import Generator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.budget import MEASURED, SHARED, loop_seconds

_PROPERTY = "processor_s"
_MOST_SHOWN = 20
# Nine of ten tests take less.
_LEAST_KEPT_S = 0.05
_LOOP = pytest.StashKey[float]()


# Of processes that are nobody's children, as a PostgreSQL server is.
_detached: list[float] = []


def count_detached(process: int) -> None:
    """Count what a process that is no child of this one has taken until now, with its children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    _detached.append(sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Time the loop of the budget before workers keep the processors busy."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[_LOOP] = loop_seconds()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands on what it counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_PROPERTY] = sum(_detached)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker counted."""
    _detached.append(getattr(node, "workeroutput", {}).get(_PROPERTY, 0.0))


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure set-up, call and tear-down together; the report of the tear-down, the last one, carries the seconds."""
    item.stash[_STARTED] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Properties of a report travel from a worker to the process that prints."""
    report = yield
    if call.when == "teardown":
        report.user_properties.append((_PROPERTY, _spent() - item.stash[_STARTED]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each folder and for the most expensive tests, and one for the whole run."""
    by_test: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, seconds in getattr(report, "user_properties", ()):
                if name == _PROPERTY:
                    by_test[report.nodeid] += seconds
    if not by_test:
        return
    by_folder: Counter[str] = Counter()
    by_file: Counter[str] = Counter()
    for test, seconds in by_test.items():
        by_folder[folder_of(test)] += seconds
        by_file[test.partition("::")[0]] += seconds
    whole = _spent() + sum(_detached)
    folders = dict(by_folder.most_common()) | {SHARED: whole - sum(by_folder.values())}
    MEASURED.parent.mkdir(exist_ok=True)
    dearest = {test: seconds for test, seconds in by_test.most_common() if seconds >= _LEAST_KEPT_S}
    run = {"loop": terminalreporter.config.stash[_LOOP], "folders": folders, "files": by_file, "tests": dearest}
    MEASURED.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    terminalreporter.section("processor seconds")
    for folder, seconds in by_folder.most_common():
        terminalreporter.write_line(f"{seconds:8.1f}  {folder}")
    for test, seconds in by_test.most_common(_MOST_SHOWN):
        terminalreporter.write_line(f"{seconds:8.1f}  {test}")
    terminalreporter.write_line(f"{sum(by_folder.values()):8.1f}  tests, {whole:.1f} with all that they share")


def folder_of(nodeid: str) -> str:
    """`tests/server/keys` of a test in it or below it."""
    parts = PurePosixPath(nodeid.partition("::")[0]).parent.parts
    return "/".join(parts[:3])


_STARTED = pytest.StashKey[float]()
