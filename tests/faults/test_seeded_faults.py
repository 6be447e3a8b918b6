"""The gate can fail: a fault against any promise of docs/guarantees.md is caught by the tests that are not slow."""

from __future__ import annotations

import re

import pytest

from tests.seeded_faults import FAULTS, ROOT, Fault, all_tests, is_caught, run_tests


def test_every_promise_has_a_fault() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert list(dict.fromkeys(fault.promise for fault in FAULTS)) == [
        each for each in headings if each != "What is not promised"
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.promise)
def test_a_fault_changes_a_line_that_is_there(fault: Fault) -> None:
    assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.right) == 1


@pytest.mark.parametrize("test", all_tests())
def test_the_tests_that_catch_faults_are_there(test: str) -> None:
    file, *names = test.split("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert all(re.search(rf"^ *(async def|def|class) {name}\b", text, re.MULTILINE) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.promise)
def test_a_fault_is_caught(fault: Fault) -> None:
    assert is_caught(fault)


@pytest.mark.slow
def test_without_a_fault_the_same_tests_pass() -> None:
    done = run_tests(all_tests())
    assert done.returncode == 0, done.stdout
