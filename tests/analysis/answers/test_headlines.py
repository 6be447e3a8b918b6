"""What lists show of an estimate: the first sentence's number, the largest shares or steps, at most 2,000 bytes."""

from __future__ import annotations

import pytest

from sordino_analysis.answers.findings import told
from sordino_analysis.answers.headline import MOST_BYTES, Headline, headline_of
from tests.analysis.answers.test_findings import table


def test_a_histogram_shows_its_largest_shares() -> None:
    shares = table("histogram", [0.1, 0.6, 0.05, 0.25], [0.02] * 4, users=4000)
    found = headline_of(shares, told(shares))
    assert found.sentences[0] == "the largest share is v1: 60.0 % ± 2.0"
    assert (found.number, found.label, found.users, found.too_few) == ("60.0 % ± 2.0", "v1", 4000, False)
    assert (found.form, [point[0] for point in found.points]) == ("bars", ["v1", "v3", "v0"])
    assert found.points[0] == ("v1", 0.6, 0.58, 0.62)
    assert Headline.model_validate_json(found.content()) == found


def test_a_distribution_shows_24_steps_from_the_first_to_the_last() -> None:
    steps = table("prefix", [place / 100 for place in range(1, 101)], [0.01] * 100)
    found = headline_of(steps, told(steps))
    ends = [point[0] for point in found.points]
    assert (found.form, len(ends), ends[0], ends[-1]) == ("steps", 24, 0.0, 99.0)
    assert ends == sorted(ends)


def test_too_few_users_are_told() -> None:
    wide = table("histogram", [0.5, 0.3, 0.2], [0.25] * 3, users=300)
    found = headline_of(wide, told(wide))
    assert found.too_few
    assert found.more is not None
    narrow = table("histogram", [0.5, 0.3, 0.2], [0.099, 0.25, 0.25], users=300)
    assert not headline_of(narrow, told(narrow)).too_few


@pytest.mark.parametrize(("length", "pictured"), [(5, True), (900, False)])
def test_what_is_stored_stays_small(length: int, pictured: bool) -> None:
    """Labels may have 900 characters, of four bytes each."""
    shares = table("histogram", [0.5, 0.3, 0.15, 0.05], [0.02] * 4)
    shares = shares.with_columns(label=["\U0001f6eb" * length + str(place) for place in range(4)])
    found = headline_of(shares, told(shares))
    content = found.content()
    assert len(content.encode()) <= MOST_BYTES
    kept = Headline.model_validate_json(content)
    assert kept.sentences[:1] == found.sentences[:1]
    assert bool(kept.points) == pictured
