"""Run the blocks of a page as a reader would: `python -m docs.site.blocks docs/first-campaign.md`.

A page is one folder and one Python session. `python` and `sh` blocks run in their order, and a `text` block behind one
is what it must print: the same words, any date, numbers within two units of their last digit. A line with `…` alone
stands for lines that are left out. A block whose first line is `# name.ext` is written to that file. What is exported
in one `sh` block is there in the next, and a process that one leaves behind ends with the page. Ports 8000 to 8009 of a
page are others while it is run, so that pages can run side by side.

A program of ours that a page calls and that is not installed, and a server that it needs and nobody starts, are told
before the first block.

Three comments of a page are for this program. `<!-- server: yes -->` gives it a new server and an admin's key, in
SORDINO_SERVER and SORDINO_KEY. `<!-- node: yes -->` gives it `node` and the TypeScript SDK, as `npm install` would: a
block `ts` whose first line is `// name.ts` is a file that an `sh` block runs. `<!-- skip: reason -->` before a block
leaves it out.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"(?:^<!-- skip: ([^\n]+) -->\n+)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SERVER = "<!-- server: yes -->"
_NODE = "<!-- node: yes -->"
_FILE = re.compile(r"(?:#|//) ([\w-]+\.\w+)\n")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b(?: \d\d:\d\d\b)?")
_RUN = ("python", "sh")
_PORT = re.compile(r"(?<=127\.0\.0\.1:)800\d\b|(?<=PORT=)800\d\b")
_PATIENCE_S = 60.0
# Programs of ours that a page calls, at the beginning of a command.
_PROGRAM = re.compile(r"(?:^|[;&|(])\s*(?:\w+=\S+ +)*(sordino[\w-]*)(?= |$)", re.MULTILINE)
_NEEDS_SERVER = re.compile(r"\$\{?SORDINO_(?:SERVER|KEY)\b|environ\[\"SORDINO_(?:SERVER|KEY)\"\]")
_SETS_SERVER = re.compile(r"SORDINO_(?:SERVER|KEY)=")


@dataclass(frozen=True)
class Block:
    """One fenced block; `shown` is the text that the page has behind it, None where it has none."""

    language: str
    text: str
    line: int
    skip: str | None = None
    shown: str | None = None

    @property
    def file(self) -> str | None:
        """The name of the file that the block is the content of."""
        found = _FILE.match(self.text)
        return found[1] if found else None


def blocks(page: str) -> list[Block]:
    """The blocks of a page that run or are files, in their order."""
    found: list[Block] = []
    for match in _BLOCK.finditer(page):
        skip, language, text = match.groups()
        line = page.count("\n", 0, match.start(2)) + 1
        if language == "text" and found and found[-1].shown is None:
            last = found.pop()
            found.append(Block(last.language, last.text, last.line, last.skip, text))
        elif language in _RUN or _FILE.match(text):
            found.append(Block(language, text, line, skip))
    return found


def differences(shown: str, printed: str) -> str:
    """What differs, empty for nothing; a number may be off by two units of its last digit, as on another machine."""
    if "\n…\n" in f"\n{shown}":
        head, tail = (part.splitlines() for part in f"\n{shown}".split("\n…\n", 1))
        lines = printed.splitlines()
        head = head[1:]
        printed = "\n".join([*lines[: len(head)], *lines[len(lines) - len(tail) :]])
        shown = "\n".join([*head, *tail])
    shown, printed = _DATE.sub("DATE", shown), _DATE.sub("DATE", printed)
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return f"the page shows\n{shown}\nand it printed\n{printed}"
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        if abs(_value(one) - _value(other)) > 2.01 * 10.0 ** -len(one.partition(".")[2]):
            return f"the page shows {one} where it printed {other}"
    return ""


def _value(number: str) -> float:
    return float(number.replace(",", ""))


@dataclass
class Session:
    """One page that is run: folder, environment, Python names, and the groups of processes that it began."""

    folder: Path
    environment: dict[str, str]
    ports: dict[str, int] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    groups: list[int] = field(default_factory=list)

    def run(self, block: Block) -> str:
        """What the block prints; raises what a `python` block raises, and RuntimeError for a command that fails."""
        text = self._moved(block.text)
        if block.file:
            (self.folder / block.file).write_text(text, encoding="utf-8")
            return ""
        return self._python(text, block.line) if block.language == "python" else self._shell(text)

    def _python(self, text: str, line: int) -> str:
        printed = StringIO()
        with chdir(self.folder), redirect_stdout(printed):
            # Lines of a traceback are those of the page.
            exec(compile("\n" * line + text, "page", "exec"), self.names)
        return printed.getvalue()

    def _shell(self, text: str) -> str:
        """Run in bash, and keep what it exports. Files and not pipes: a server in the background keeps a pipe open."""
        script = f"set -e\n{text}\nexport -p > .exported\n"
        out, wrong = self.folder / ".out", self.folder / ".err"
        with out.open("w") as printed, wrong.open("w") as errors:
            process = subprocess.Popen(
                ["bash", "-c", script], cwd=self.folder, env=self.environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=printed, stderr=errors,
            )  # fmt: skip
            self.groups.append(process.pid)
            code = process.wait(_PATIENCE_S * 5)
        if code:
            raise RuntimeError(f"exit code {code}\n{out.read_text()}\n{wrong.read_text()}")
        kept = re.findall(r'^declare -x (\w+)="(.*)"$', (self.folder / ".exported").read_text(), re.MULTILINE)
        self.environment |= {name: value.replace('\\"', '"').replace("\\$", "$") for name, value in kept}
        return out.read_text(encoding="utf-8")

    def add_node(self) -> None:
        """Put the SDK where node looks for packages, and node on the path."""
        # Without a checkout, as in the gate of ten minutes, there is neither.
        from release.page import install

        self.environment["PATH"] = f"{install(self.folder)}{os.pathsep}{self.environment['PATH']}"

    def shows(self, block: Block, printed: str) -> str:
        """What differs between what the page has behind the block and what it printed."""
        return differences(self._moved(block.shown or ""), printed)

    def _moved(self, text: str) -> str:
        """The text with ports of this run in place of 8000 to 8009."""
        return _PORT.sub(lambda found: str(self.port(found[0])), text)

    def port(self, named: str) -> int:
        """The port that stands for one of the page, which is free at the first call."""
        return self.ports.setdefault(named, _free_port())

    def close(self) -> None:
        """End every process that the page left behind."""
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                continue


def run_page(text: str, folder: Path) -> list[str]:
    """Run a page in an empty folder; each fault with its line. It ends with the first block that fails."""
    if missing := missing_for(text):
        return missing
    with _session(folder) as session:
        if _NODE in text:
            session.add_node()
        if _SERVER in text:
            try:
                session.run(Block("sh", _START, 0))
            except Exception as error:  # a server that does not start is told with its log
                return [f"the page's server did not start: {error}"]
        for block in blocks(text):
            if block.skip:
                continue
            try:
                printed = session.run(block)
            except Exception as error:  # whatever a page raises is its fault
                return [f"line {block.line}: {type(error).__name__}: {error}"]
            if block.shown is not None and (wrong := session.shows(block, printed)):
                return [f"line {block.line}: {wrong}"]
    return []


def missing_for(text: str) -> list[str]:
    """What the blocks of a page need and do not have, with the line and what to do; else a loop waits for it."""
    missing, has_server = [], _SERVER in text
    for block in blocks(text):
        if block.skip or block.file:
            continue
        programs = set(_PROGRAM.findall(block.text)) if block.language == "sh" else set()
        missing += [
            f"line {block.line}: {name} is not installed in {Path(sys.executable).parent}: run make install"
            for name in sorted(programs)
            if shutil.which(name, path=_path()) is None
        ]
        has_server = has_server or bool(_SETS_SERVER.search(block.text))
        if not has_server and _NEEDS_SERVER.search(block.text):
            said = f"the block needs a server and the page has none: write {_SERVER} below the title, or start one"
            return [*missing, f"line {block.line}: {said}"]
    return missing


def _path() -> str:
    """Where programs are looked for: those of this Python first."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


@contextmanager
def _session(folder: Path) -> Iterator[Session]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("SORDINO_", "DO_NOT_TRACK", "CI"))
    }
    environment = kept | {"PATH": _path(), "HOME": str(folder), "COLUMNS": "100"}
    if (cache := os.environ.get("SORDINO_CACHE_DIR")) is not None:
        environment["SORDINO_CACHE_DIR"] = cache
    session = Session(folder, environment)
    environment["SORDINO_PORT"] = str(session.port("8000"))
    try:
        yield session
    finally:
        session.close()


# What tutorial 2 does by hand.
_START = """sordino serve > server.log 2>&1 &
export SORDINO_SERVER=http://127.0.0.1:$SORDINO_PORT
until grep -q listening server.log; do
  kill -0 $! || { cat server.log; exit 1; }
  sleep 0.1
done
export SORDINO_KEY=$(sordino keys create --role admin --name page 2> key.log)
"""


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def main() -> int:
    """Run the pages that are named; 1 where a block fails."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.blocks", description="Run the blocks of pages.")
    parser.add_argument("pages", nargs="+", type=Path)
    failed = 0
    for page in parser.parse_args().pages:
        text, begun = page.read_text(encoding="utf-8"), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            faults = run_page(text, Path(folder))
        skipped = [block for block in blocks(text) if block.skip]
        print(f"{page}: {len(blocks(text))} blocks, {len(skipped)} left out, {time.monotonic() - begun:.1f} s")
        print(*faults, sep="\n", end="\n" if faults else "")
        failed += bool(faults)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
