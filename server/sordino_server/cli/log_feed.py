"""The Atom feed (RFC 4287) of `sordino log verify --feed`: an entry for each of the log, the newest first."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as Xml

from sordino_server.cli.log_monitor import Look
from sordino_server.public_log.sentences import LAST_SECOND
from sordino_shared.errors import InvalidValue

_ATOM = "http://www.w3.org/2005/Atom"
# A reader that looks once a month sees them all.
_MOST_ENTRIES = 200
_MOST_TITLE = 120
# Other characters cannot stand in XML 1.0.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_feed(file: Path, address: str, found: Look, size: int, now: int) -> None:
    """Put what a look found in front of the feed in `file`; a new feed where there is none.

    `size` is that of the log, and what is not true is told `now`, in Unix seconds. What stands in the feed is not
    written again. Raises InvalidValue where the file is none of ours.
    """
    kept = _kept(file)
    known = {each.findtext(_tag("id")) for each in kept}
    new = [_entry(f"{address}/v1/log#{_digest(each)}", f"not true: {each}", now) for each in found.lies]
    first = size - len(found.entries)
    for place, each in reversed(list(enumerate(found.entries))):
        new.append(_entry(f"{address}/v1/log/entries#{first + place}", found.text(each), each.at))
    fresh = [each for each in new if each.findtext(_tag("id")) not in known]
    if fresh or not file.exists():
        _write(file, _feed(address, [*fresh, *kept][:_MOST_ENTRIES], now))


def _kept(file: Path) -> list[Xml.Element]:
    """The entries of the feed that is there."""
    if not file.exists():
        return []
    try:
        root = Xml.fromstring(file.read_bytes())
    except Xml.ParseError as error:
        raise InvalidValue(f"{file} is no Atom feed: name another file", file) from error
    if root.tag != _tag("feed"):
        raise InvalidValue(f"{file} is no Atom feed: name another file", file)
    return root.findall(_tag("entry"))


def _feed(address: str, entries: list[Xml.Element], now: int) -> Xml.Element:
    root = Xml.Element(_tag("feed"))
    _add(root, "id", f"{address}/v1/log")
    _add(root, "title", f"Public log of {address}")
    _add(root, "updated", _time(now))
    _add(_add(root, "author"), "name", address)
    _add(root, "link", rel="alternate", href=f"{address}/v1/log/entries")
    root.extend(entries)
    return root


def _entry(identifier: str, text: str, at: int) -> Xml.Element:
    root = Xml.Element(_tag("entry"))
    clean = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    _add(root, "id", identifier)
    _add(root, "title", clean if len(clean) <= _MOST_TITLE else f"{clean[: _MOST_TITLE - 1]}…")
    _add(root, "updated", _time(at))
    _add(root, "content", clean, type="text")
    return root


def _add(parent: Xml.Element, name: str, text: str | None = None, **attributes: str) -> Xml.Element:
    child = Xml.SubElement(parent, _tag(name), attributes)
    child.text = text
    return child


def _write(file: Path, root: Xml.Element) -> None:
    Xml.register_namespace("", _ATOM)
    Xml.indent(root)
    unfinished = file.with_name(f".{file.name}.part")
    unfinished.write_bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
    unfinished.replace(file)


def _tag(name: str) -> str:
    return f"{{{_ATOM}}}{name}"


def _time(unix: int) -> str:
    return datetime.fromtimestamp(min(unix, LAST_SECOND), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
