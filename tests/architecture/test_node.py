"""The node that tests run: it comes from its wheel, is new enough, and computes."""

from __future__ import annotations

import subprocess

import pytest

from tests.node import evaluate


def test_it_is_version_20_or_newer() -> None:
    assert int(evaluate("process.versions.node").partition(".")[0]) >= 20


def test_it_evaluates_an_expression() -> None:
    assert evaluate("(2n ** 64n - 1n).toString()") == str(2**64 - 1)


def test_an_expression_that_throws_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        evaluate("throw new Error('no')")


def test_it_has_the_cryptography_that_a_device_needs() -> None:
    assert evaluate("typeof crypto.subtle.deriveBits + ' ' + typeof crypto.getRandomValues") == "function function"
