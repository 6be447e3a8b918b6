"""The purpose in the owner's language: lookup by RFC 4647, and what every text is bound to."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_client import PlanRefused, PurposeText, WrongArgument
from sordino_shared.protocol import Manifest, OwnerText, text_for


def text(language: str, **more: Any) -> OwnerText:
    return OwnerText(**({"language": language, "purpose": f"in {language}", "contact": None, "link": None} | more))


TEXTS = tuple(text(language) for language in ("de", "de-AT", "en", "pt-BR", "zh-Hant", "zh-Hant-TW"))


@pytest.mark.parametrize(
    ("languages", "found"),
    [
        (["de-CH", "en"], "de"),
        (["de-AT-1996"], "de-AT"),
        (["DE-at"], "de-AT"),
        # A range is shortened, never a tag: "pt" does not find "pt-BR".
        (["pt", "en-GB"], "en"),
        (["fr", "pt-BR-x-private"], "pt-BR"),
        # The example of RFC 4647: a single letter goes with what followed it.
        (["zh-Hant-CN-x-private1-private2"], "zh-Hant"),
        (["*", "en"], "en"),
        (["fr", "it"], None),
        ([], None),
        (["", "-", "--en"], None),
    ],
)
def test_the_first_language_that_has_a_text_is_taken(languages: list[str], found: str | None) -> None:
    assert getattr(text_for(TEXTS, languages), "language", None) == found


def test_a_device_shows_the_text_of_its_owners_language(make_world: Any, make_client: Any) -> None:
    german = text("de", purpose="Welche Farbe die App hat.", contact="das Team", link="https://x.example/de")
    world = make_world(texts=(german, text("fr")))
    campaign = make_client(world).join(world.campaign)
    assert campaign.text(["de-CH", "en"]) == PurposeText(
        language="de", purpose="Welche Farbe die App hat.", contact="das Team", link="https://x.example/de"
    )
    other = campaign.text(["en"])
    assert (other.language, other.purpose) == (None, campaign.purpose)


def test_no_text_is_changed_afterwards(make_world: Any, make_client: Any) -> None:
    world, other = make_world(texts=(text("de"),)), make_world(texts=(text("de", purpose="Etwas anderes."),))
    assert world.campaign != other.campaign
    world.manifest_content = other.manifest_content
    with pytest.raises(PlanRefused):
        make_client(world).join(world.campaign)
    assert Manifest.read(other.manifest_content).texts[0].purpose == "Etwas anderes."


@pytest.mark.parametrize("wrong", ["de", [1], [None], ["de", b"en"]])
def test_languages_are_a_list_of_tags(make_world: Any, make_client: Any, wrong: Any) -> None:
    world = make_world()
    with pytest.raises(WrongArgument, match="languages are a list of tags"):
        make_client(world).join(world.campaign).text(wrong)
