"""A deadline says when to stop, and remembers that it said so."""

import time

import pytest

from sordino_server.design.deadline import Deadline


def test_without_a_moment_it_never_comes():
    deadline = Deadline()
    assert not deadline.passed()
    assert not deadline.sooner(1e-9)()
    assert deadline.cut_short is None


def test_a_moment_passes_and_is_remembered():
    deadline = Deadline(0.03)
    assert not deadline.passed()
    assert deadline.cut_short is None
    time.sleep(0.03)
    assert deadline.passed()
    assert deadline.cut_short == "time limit"


def test_a_part_that_was_stopped_cuts_the_whole_short():
    deadline = Deadline(60)
    part, sooner = deadline.sooner(0.9), deadline.sooner(0.0)
    assert not part()
    assert deadline.cut_short is None
    assert sooner()
    assert not deadline.passed()
    assert deadline.cut_short == "time limit"


@pytest.mark.parametrize("seconds", [None, 60])
def test_an_interruption_passes_at_once_for_every_part(seconds):
    asked = []
    deadline = Deadline(seconds, lambda: bool(asked))
    part = deadline.sooner(0.5)
    assert not deadline.passed()
    assert not part()
    asked.append("stop")
    assert part()
    assert deadline.passed()
    assert deadline.cut_short == "interrupted"
