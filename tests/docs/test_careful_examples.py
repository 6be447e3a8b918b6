"""What a careful person would copy: the caps and the retention of every example are the advised ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# ε of a period, its days, and ε for life. The second is for apps that pin a shuffler, and stands beside its name.
DIRECT, SHUFFLED = ("1", "28", "12"), ("4", "28", "48")
RETENTION_DAYS = "30"
_FOLDERS = ("docs", "examples", "deploy", "client", "shared", "analysis", "server", "migrations")
_ENDINGS = (".md", ".py", ".yaml", ".yml", ".sh", ".ipynb", ".example")
FILES = sorted(
    path
    for folder in (ROOT, *(ROOT / name for name in _FOLDERS))
    for path in (folder.iterdir() if folder == ROOT else folder.rglob("*"))
    if path.is_file() and path.suffix in _ENDINGS and "__pycache__" not in path.parts
)
# Each way to write caps, with its three numbers; a cap in any other form fails `test_no_cap_is_written_otherwise`.
_NUMBER = r"[\"']?([\d.]+)[\"']?"
CAPS = (
    re.compile(rf"Caps\.of\({_NUMBER}, days={_NUMBER}, lifetime={_NUMBER}\)"),
    re.compile(rf"--per-period {_NUMBER} --period-days {_NUMBER} --lifetime {_NUMBER}"),
)
_MENTION = re.compile(r"Caps\.of\(.?\d|\bCaps\([^)]*\d|--per-period \d|--lifetime \d")
_RETENTION = re.compile(r"RAW_REPORT_RETENTION_DAYS[=:]\s*\"?(?:\$\{\w+:-)?(\d+)")


def caps_in(text: str) -> list[tuple[tuple[str, ...], str]]:
    """The caps of a text, each with the text around it."""
    found = [match for form in CAPS for match in form.finditer(text)]
    return [(match.groups(), text[max(match.start() - 600, 0) : match.end() + 600]) for match in found]


def wrong(text: str) -> list[str]:
    """What is wrong in an example's text."""
    problems = []
    for caps, around in caps_in(text):
        if caps != DIRECT and not (caps == SHUFFLED and "shuffler" in around):
            problems.append(f"caps {caps}")
    places = [range(*match.span()) for form in CAPS for match in form.finditer(text)]
    problems += [each[0] for each in _MENTION.finditer(text) if not any(each.start() in place for place in places)]
    problems += [f"retention {days}" for days in _RETENTION.findall(text) if days != RETENTION_DAYS]
    return problems


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_example_has_the_advised_caps_and_retention(path: Path) -> None:
    if path.name == "CHANGELOG.md":
        return
    # Simulated devices of the server's own commands are no example.
    simulated = "server/sordino_server/cli/simulation" in str(path)
    assert simulated or wrong(path.read_text(encoding="utf-8")) == []


def test_the_pages_that_people_copy_from_have_them() -> None:
    having = {str(path.relative_to(ROOT)) for path in FILES if caps_in(path.read_text(encoding="utf-8"))}
    assert having >= {"client/README.md", "docs/operations.md"}
    assert having >= {f"docs/{name}.md" for name in ("first-campaign", "first-app", "quickstart", "sdk")}
    kept = {str(path.relative_to(ROOT)) for path in FILES if _RETENTION.search(path.read_text(encoding="utf-8"))}
    assert kept >= {"docker-compose.yml"}
    assert f"SORDINO_RAW_REPORT_RETENTION_DAYS={RETENTION_DAYS}" in (ROOT / ".env.example").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "caps = Caps.of(4, days=28, lifetime=48)",
        "caps = Caps.of(1, days=30, lifetime=12)",
        "caps = Caps.of(1, days=28, lifetime=120)",
        "Caps.of(8, days=28, lifetime=96)  # pins a shuffler",
        "Caps(per_period=PureEpsilon.at_most(4), period_days=30, lifetime=PureEpsilon.at_most(40))",
        "--per-period 2 --period-days 30 --lifetime 20",
        "--per-period 2 --period-days 30",
        "SORDINO_RAW_REPORT_RETENTION_DAYS=365",
        'SORDINO_RAW_REPORT_RETENTION_DAYS: "0"',
    ],
)
def test_another_advice_is_seen(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize(
    "text",
    [
        'Caps.of("1", days=28, lifetime="12")',
        "An app that pins a shuffler takes `Caps.of(4, days=28, lifetime=48)`.",
        "--per-period 1 --period-days 28 --lifetime 12",
        "SORDINO_RAW_REPORT_RETENTION_DAYS: ${SORDINO_RAW_REPORT_RETENTION_DAYS:-30}",
    ],
)
def test_the_advised_ones_pass(text: str) -> None:
    assert not wrong(text)
