"""`python -m docs.site build` writes the site, `llms` the llms.txt of the repository, `promises` docs/promises.md.

`versions FOLDER` links the sites of several versions in one folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.site import contents, promises, versions
from docs.site.lean import drop_unopened

BUILD = contents.ROOT / "build" / "docs"
LLMS = contents.ROOT / "llms.txt"
# Sphinx says which name it did not find, and not what a developer does about it.
REMEDIES = """The site has warnings, each above with its place.
"reference target not found" is a type of a public signature without an entry on the site. Export it in __all__ of its
package, or list it in RETURNED of docs/site/reference/python.py if functions return it, or in docs/site/nitpicks.py
with the reason why readers need no entry. "cross-reference target not found" is a link to a page or heading
that is gone."""


def listed() -> list[contents.Part]:
    """The table of contents; ends with what to change where it differs from the pages that there are."""
    parts = contents.parts(contents.CONTENTS.read_text(encoding="utf-8"))
    if wrong := contents.misfits(parts, contents.pages()):
        sys.exit("\n".join(wrong))
    return parts


def build(target: Path) -> int:
    """Stage and build with every link checked; the exit code of Sphinx."""
    try:
        from sphinx.cmd.build import build_main
    except ModuleNotFoundError:
        sys.exit("Sphinx is not installed: run make docs, or pip install -r requirements/docs.txt")
    from docs.site import reference
    from docs.site.staging import stage

    parts = listed()
    stage(target / "source", parts, reference.pages(), reference.TOPS)
    options = ["-n", "-W", "--keep-going", "-q", "-b", "html", "-c", str(Path(__file__).parent)]
    code = int(build_main([*options, "-d", str(target / "doctrees"), str(target / "source"), str(target / "html")]))
    if not code:
        drop_unopened(target / "html")
        (target / "html" / "llms.txt").write_text(contents.site_llms(target / "source"), encoding="utf-8")
        (target / "html" / "llms-full.txt").write_text(contents.llms_full(parts), encoding="utf-8")
    return code


def llms() -> str:
    """llms.txt of the repository: its head as it is, and a line for each page."""
    head = LLMS.read_text(encoding="utf-8").partition("\n## Tutorials\n")[0]
    return contents.llms(listed(), head)


def held() -> str:
    """docs/promises.md; ends with what to change where promises and tests do not fit."""
    kept, pages = promises.read()
    if wrong := promises.misfits(kept, pages):
        sys.exit("\n".join(wrong))
    return promises.page(kept, pages)


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="write the site to build/docs/html; fails for a warning")
    building.add_argument("--folder", type=Path, default=BUILD, help="where it is written")
    commands.add_parser("llms", help="write llms.txt from the table of contents")
    commands.add_parser("promises", help="write docs/promises.md: each promise of the pages with its tests")
    linking = commands.add_parser("versions", help="mark the sites below a folder, and write its versions.html")
    linking.add_argument("folder", type=Path, help="has stable, dev, or versions such as 0.2, each a built site")
    chosen = parser.parse_args()
    if chosen.command == "build":
        if code := build(chosen.folder):
            print(REMEDIES, file=sys.stderr)
        else:
            print(f"open {chosen.folder / 'html' / 'index.html'}")
        return code
    if chosen.command == "versions":
        try:
            print(f"{', '.join(versions.write(chosen.folder))}: open {chosen.folder / versions.PAGE}")
        except versions.NoVersions as error:
            sys.exit(str(error))
        return 0
    if chosen.command == "promises":
        promises.PAGE.write_text(held(), encoding="utf-8")
        return 0
    LLMS.write_text(llms(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
