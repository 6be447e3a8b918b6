"""One form for every share that a reader sees."""

import re
from pathlib import Path

import pytest

from sordino_analysis.percentages import percent

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.95, None, "95 %"),
        (0.995, None, "99.5 %"),
        (1, None, "100 %"),
        (0.5, 0, "50 %"),
        (0.1234, 2, "12.34 %"),
        (-0.1, 2, "−10.00 %"),
    ],
)
def test_a_share_has_a_space_and_a_minus(share, digits, text):
    assert percent(share, digits) == text


OWN = re.compile(r":[.\w]*%\}|\{100 \* [^}]*\} %")


def test_nobody_writes_another():
    assert OWN.search('f"{share:.1%}"')
    assert OWN.search('f"{100 * share:g} %"')
    sources = [path for part in ("analysis", "server", "client", "shared") for path in (ROOT / part).rglob("*.py")]
    assert len(sources) > 500
    assert [path.name for path in sources if "build" not in path.parts and OWN.search(path.read_text("utf-8"))] == []
