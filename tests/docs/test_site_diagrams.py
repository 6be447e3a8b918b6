"""Every Mermaid diagram of the documentation is drawn, with every word of it; a line that is not drawn is an error."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import unescape

import pytest

from docs.site.contents import DOCS
from docs.site.diagrams import DiagramError, picture

DIAGRAMS = [
    pytest.param(text, id=f"{path.stem}-{at}")
    for path in sorted(DOCS.rglob("*.md"))
    for at, text in enumerate(re.findall(r"^```mermaid\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S))
]


@pytest.mark.parametrize("text", DIAGRAMS)
def test_a_picture_has_every_word_of_its_text(text: str) -> None:
    drawn = picture(text)
    tree = ElementTree.fromstring(drawn)
    shown = {each.text for each in tree.iter("text")}
    said = re.findall(r"(?:>>\w+|Note over [\w,]+): (.+)", text) + re.findall(r"participant (\w+)", text)
    said += re.findall(r"\b(\w+) -->", text) if "stateDiagram" in text else []
    assert said
    assert {unescape(word) for word in said} <= shown
    arrows = len(re.findall(r"->>", text)) + len(re.findall(r"^\s*\w+ --> \w+", text, re.M))
    assert drawn.count("marker-end") == arrows


def test_no_box_lies_on_another_and_none_leaves_the_picture() -> None:
    text = "stateDiagram-v2\n[*] --> a\na --> b\na --> c\nb --> c\nc --> [*]\n"
    tree = ElementTree.fromstring(picture(text))
    boxes = [each for each in tree.iter("rect") if each.get("class") == "box"]
    places = [(float(each.get("x", "")), float(each.get("y", ""))) for each in boxes]
    assert len(set(places)) == 3
    assert all(0 <= x < float(tree.get("width", "")) and 0 <= y < float(tree.get("height", "")) for x, y in places)


@pytest.mark.parametrize(
    "text",
    [
        "flowchart LR\na --> b",
        "sequenceDiagram\nparticipant A\nA->>B: hello",
        "sequenceDiagram\nparticipant A\nloop every day",
        "stateDiagram-v2\na --> b: why",
        "stateDiagram-v2\na --> b\nb --> a",
    ],
)
def test_what_is_not_drawn_is_an_error(text: str) -> None:
    with pytest.raises(DiagramError):
        picture(text)
