"""Every error of the mathematics has a code of its own, which never changes, and says what to do."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import sordino_analysis as sa
import sordino_shared
from sordino_shared.errors import SordinoError


def _below(kind: type[SordinoError]) -> set[type[SordinoError]]:
    return {kind}.union(*map(_below, kind.__subclasses__()))


def _errors() -> list[type[SordinoError]]:
    """All errors of analysis and shared, in modules that need no other software."""
    for package in (sa, sordino_shared):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "spark" not in module.name:
                importlib.import_module(module.name)
    ours = ("sordino_analysis.", "sordino_shared.")
    return sorted((kind for kind in _below(SordinoError) if kind.__module__.startswith(ours)), key=lambda k: k.__name__)


@pytest.fixture(scope="module")
def errors() -> list[type[SordinoError]]:
    """Found when a test asks for them: to import every module takes longer than to list all tests of this folder."""
    return _errors()


def test_the_public_errors_are_among_them(errors) -> None:
    public = {name for name in sa.__all__ if name.endswith("Error")}
    assert public <= {kind.__name__ for kind in errors}
    assert len(errors) > 20


def test_an_error_has_a_code_of_its_own_and_advice(errors) -> None:
    for kind in errors:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", vars(kind).get("code", "")), kind
        assert kind.advice == kind.advice.strip(" ."), kind
        assert len(kind.advice.split()) >= 3, kind


def test_no_two_errors_have_one_code(errors) -> None:
    assert len({kind.code for kind in errors}) == len(errors)


def test_a_raised_error_has_them() -> None:
    with pytest.raises(SordinoError) as caught:
        sa.histogram(0)
    assert (caught.value.code, bool(caught.value.advice)) == ("workload-error", True)
