"""Plain docstrings as reStructuredText: what is indented or parses as Python is code, all else is prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_SPECIAL = re.compile(r"([\\*_|])")


def paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Whether each paragraph is code, and its lines without their common indent."""
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = block.splitlines()
        if not lines:
            continue
        if is_code(lines):
            yield True, _dedented(lines)
            continue
        # "Example:" and indented lines below it.
        first = next((at for at, line in enumerate(lines) if at and line.startswith("    ")), len(lines))
        yield False, lines[:first]
        if first < len(lines):
            yield True, _dedented(lines[first:])


def is_code(lines: list[str]) -> bool:
    """Prose never parses as Python; a session of Python begins with its prompt; an indented paragraph is an example."""
    if all(line.startswith("    ") for line in lines) or lines[0].startswith((">>>", "├", "│")):
        return True
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        # The end of a block whose beginning stands in the paragraph before, or a drawn tree.
        return any("├──" in line for line in lines)
    return not re.fullmatch(r"\w+\.?", "\n".join(lines).strip())


def as_rest(text: str) -> list[str]:
    """Lines of reStructuredText."""
    made: list[str] = []
    for code, lines in paragraphs(text):
        if code:
            language = "text" if any("──" in line for line in lines) else "python"
            made += [f".. code-block:: {language}", "", *(f"    {line}" for line in lines), ""]
        else:
            made += [*(_prose(line) for line in lines), ""]
    return made


def as_markdown(text: str) -> list[str]:
    """Lines of Markdown."""
    from docs.site.reference.markdown import plain

    made: list[str] = []
    for code, lines in paragraphs(text):
        made += ["```python", *lines, "```", ""] if code else [plain(" ".join(lines)), ""]
    return made


def _prose(line: str) -> str:
    pieces = line.strip().split("`")
    if len(pieces) % 2 == 0:
        return _SPECIAL.sub(r"\\\1", line.strip().replace("`", "\\`"))
    # After code reST needs a blank or a sign: `plans`es would not end it, an escaped blank does.
    quoted = [f"``{each}``\\ " if at % 2 else _SPECIAL.sub(r"\\\1", each) for at, each in enumerate(pieces)]
    text = "".join(quoted)
    return re.sub(r"``\\ (?=[\s.,;:)]|$)", "``", text).replace("``````", "``")


def _dedented(lines: list[str]) -> list[str]:
    least = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[least:] for line in lines]
