"""Blocks of tutorials run as a reader would run them, and print what the page shows."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from docs.site import blocks as site_blocks
from docs.site.blocks import blocks, differences, missing_for, run_page
from docs.site.contents import CONTENTS, DOCS, parts
from release.page import pack
from tests.patience import PATIENCE_S

TUTORIALS = ("first-estimate", "first-campaign", "first-app", "weekly", "sign-off", "answer-from-a-browser")
# Those of the others take up to ten seconds of a processor. `test_examples.py` runs the README's block.
QUICK = tuple(DOCS / f"{name}.md" for name in ("first-estimate", "errors-met", "many-users"))
# How-tos whose blocks all run as they stand.
TASKS = (
    "find-strings", "hide-who-sends", "read-an-answer", "offline", "show-and-stop", "check-the-log", "medians",
    "keep-and-delete", "backups", "steps-and-labels", "shares-and-means", "long-lists", "predict-a-crash", "two-users",
    "several-rounds", "export", "another-language", "signed-lists", "data-you-hold", "limits", "people-and-keys",
    "fake-reports", "monitor",
    "typescript", "compose", "several-processes", "several-servers", "numbers", "upgrade",
)  # fmt: skip
SERVED = tuple(DOCS / f"{name}.md" for name in (*TUTORIALS[1:], *TASKS))
# One block in so many may be left out.
LEAST_FOR_ONE = 20


@pytest.mark.parametrize("page", QUICK, ids=lambda page: page.name)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    assert run_page(page.read_text(encoding="utf-8"), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", SERVED, ids=lambda page: page.name)
def test_every_block_of_the_other_pages_runs(page: Path, tmp_path: Path) -> None:
    if page.stem == "answer-from-a-browser":
        pack()
    assert run_page(page.read_text(encoding="utf-8"), tmp_path) == []


def test_few_blocks_are_left_out() -> None:
    every = [
        block
        for name in (*TUTORIALS, *TASKS, "errors-met", "many-users")
        for block in blocks((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    ]
    assert len(every) >= LEAST_FOR_ONE
    assert LEAST_FOR_ONE * sum(1 for block in every if block.skip) <= len(every)


def test_the_tutorials_are_listed_first_and_in_their_order() -> None:
    listed = parts(CONTENTS.read_text(encoding="utf-8"))[0]
    assert [entry.target for entry in listed.entries] == [f"{name}.md" for name in TUTORIALS]


@pytest.mark.slow
def test_the_first_program_of_the_typescript_readme_runs(tmp_path: Path) -> None:
    """In the place of the how-to's, with an address, a folder and a campaign that are there."""
    readme = (DOCS.parent / "client" / "typescript" / "README.md").read_text(encoding="utf-8")
    program = re.findall(r"^```ts\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[0]
    for written, there in (
        ("https://telemetry.example", "http://127.0.0.1:8000"),
        ("/var/lib/my-app/sordino", "account"),
        ("join(id)", 'join(JSON.parse((await import("node:fs")).readFileSync("campaign.json", "utf8")).id)'),
    ):
        assert written in program
        program = program.replace(written, there)
    page = (DOCS / "typescript.md").read_text(encoding="utf-8").partition("```ts\n")[0]
    page += f"```ts\n// answer.ts\n{program}```\n\n```sh\nnode answer.ts | grep life\n```\n\n"
    page += "```text\nfor life: ε 1 of 12\n```\n"
    assert run_page(page, tmp_path) == []


PAGE = """# A page

```yaml
# ask.yaml
port: 127.0.0.1:8000
```

```python
kept = 41
print(f"{kept + 1} of 1.25")
```

```text
42 of 1.27
```

```sh
export MADE="one two"
```

```sh
echo "$MADE"; cat ask.yaml
```

```text
one two
…
port: 127.0.0.1:8000
```

<!-- skip: needs a device -->
```sh
exit 1
```
"""


def test_a_page_is_one_folder_and_one_session(tmp_path: Path) -> None:
    assert run_page(PAGE, tmp_path) == []
    assert [block.skip for block in blocks(PAGE)] == [None] * 4 + ["needs a device"]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("1.27", "1.28", "line 8: the page shows 1.28 where it printed 1.25"),
        ("kept + 1", "missing + 1", "line 8: NameError: name 'missing' is not defined"),
        ('echo "$MADE"', "echo none", "line 21: the page shows"),
        ('echo "$MADE"', "exit 3", "line 21: RuntimeError: exit code 3"),
        ("<!-- skip: needs a device -->\n", "", "line 31: RuntimeError: exit code 1"),
    ],
)
def test_a_block_that_does_otherwise_is_said_with_its_line(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    (fault,) = run_page(PAGE.replace(right, wrong), tmp_path)
    assert fault.startswith(said)


NEEDS = "# A page\n\n```sh\ncurl $SORDINO_SERVER/v1\n```\n"
STARTED = "<!-- server: yes -->\n\n```sh\ntrue\n```\n"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (NEEDS, "line 3: the block needs a server and the page has none: write <!-- server: yes -->"),
        ('```python\nimport os\nos.environ["SORDINO_KEY"]\n```\n', "line 1: the block needs a server"),
        (
            "```sh\nsordino-teapot serve &\nuntil false; do sleep 1; done\n```\n",
            "line 1: sordino-teapot is not installed",
        ),
    ],
)
def test_what_a_page_needs_and_has_not_is_told_at_once(page: str, said: str, tmp_path: Path) -> None:
    """Without waiting: a loop of the page, as for a server's first line, would else take five minutes."""
    (fault,) = run_page(page, tmp_path)
    assert fault.startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_starts_its_server_needs_no_other() -> None:
    assert missing_for(NEEDS.replace("curl", "export SORDINO_SERVER=http://127.0.0.1:8000\ncurl")) == []
    assert missing_for(NEEDS.replace("```sh", "<!-- skip: no server -->\n```sh")) == []
    assert missing_for("<!-- server: yes -->\n" + NEEDS) == []
    assert not [page.name for page in (*QUICK, *SERVED) if missing_for(page.read_text(encoding="utf-8"))]


def test_a_server_that_does_not_start_is_told_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_blocks, "_START", site_blocks._START.replace("sordino serve", "cat no-such-file"))
    (fault,) = run_page(STARTED, tmp_path)
    assert fault.startswith("the page's server did not start: exit code 1")
    assert "no-such-file" in fault


def test_ports_of_a_page_are_others_while_it_runs(tmp_path: Path) -> None:
    page = """```sh
echo $SORDINO_PORT 127.0.0.1:8000 > ports; SORDINO_PORT=8001 bash -c 'echo $SORDINO_PORT 127.0.0.1:8001' >> ports
```
"""
    assert run_page(page, tmp_path) == []
    (first, home), (second, other) = (line.split() for line in (tmp_path / "ports").read_text().splitlines())
    assert home == f"127.0.0.1:{first}"
    assert other == f"127.0.0.1:{second}"
    assert first != second != "8001"


def test_what_a_page_leaves_running_ends_with_it(tmp_path: Path) -> None:
    assert run_page("```sh\nsleep 600 &\necho $! > pid\n```\n", tmp_path) == []
    number, until = (tmp_path / "pid").read_text().strip(), time.monotonic() + PATIENCE_S
    while subprocess.run(["ps", "-p", number, "-o", "stat="], capture_output=True, text=True).stdout.strip("Z\n "):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_other_words_and_other_numbers_are_told() -> None:
    assert not differences("a 1.25 % of 1,000", "a  1.27 % of 1,002")
    assert not differences("on 2026-11-27", "on 2027-01-02")
    assert not differences("a\n…\nd", "a\nb\nc\nd")
    assert differences("a\n…\nd", "a\nb\nc")
    assert differences("a 1.25 %", "a 1.28 %")
    assert differences("a 1.25 %", "b 1.25 %")
    assert differences("a 1.25", "a 1.25 2")
