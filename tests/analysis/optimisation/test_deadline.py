"""A deadline says when to stop, and remembers that it said so."""

from types import SimpleNamespace

import pytest

from sordino_analysis.optimisation import deadline as deadline_module
from sordino_analysis.optimisation.deadline import Deadline


def test_without_a_moment_it_never_comes():
    deadline = Deadline()
    assert not deadline.passed()
    assert not deadline.sooner(1e-9)()
    assert deadline.cut_short is None


def test_a_moment_passes_and_is_remembered(clock):
    deadline = Deadline(0.03)
    assert not deadline.passed()
    assert deadline.cut_short is None
    clock.now += 0.04
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


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    shown = SimpleNamespace(now=100.0)
    monkeypatch.setattr(deadline_module, "time", SimpleNamespace(monotonic=lambda: shown.now))
    return shown


def test_a_part_divides_its_share_of_the_time_further(clock):
    whole = Deadline(10)
    part = whole.part(0.5)
    half_of_it = part.sooner(0.5)
    clock.now += 2.4
    assert not half_of_it()
    clock.now += 0.1
    assert half_of_it()
    assert not part.passed()
    assert not whole.passed()
    assert (part.cut_short, whole.cut_short) == ("time limit", "time limit")
    clock.now += 2.5
    assert part.passed()
    assert not whole.passed()


def test_an_interruption_of_a_part_is_one_of_the_whole():
    asked = []
    whole = Deadline(None, lambda: bool(asked))
    part = whole.part(0.1).part(0.1)
    assert not part.passed()
    assert whole.cut_short is None
    asked.append("stop")
    assert part.passed()
    assert whole.cut_short == "interrupted"
