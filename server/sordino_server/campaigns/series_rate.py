"""How often a device answers a series, in the sentences that owners read: in English, for German texts in German."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import OwnerText, Rotating
from sordino_shared.quantities import duration

_DAY_S, _HOUR_S = 86_400, 3600


def purpose_of(purpose: str, series: Rotating) -> str:
    """The text for the owner of a device: how often it answers, and how soon after each other, in words."""
    return _with(purpose, in_english(series))


def texts_of_series(texts: Sequence[OwnerText], series: Rotating) -> tuple[OwnerText, ...]:
    """The same for texts in stated languages that are English or German; others stay as they are.

    Raises InvalidValue where a text becomes too long.
    """
    return tuple(_stated(text, series) for text in texts)


def _stated(text: OwnerText, series: Rotating) -> OwnerText:
    sentence = _SENTENCES.get(text.language.lower().split("-")[0])
    if sentence is None:
        return text
    purpose = _with(text.purpose, sentence(series))
    try:
        return OwnerText(language=text.language, purpose=purpose, contact=text.contact, link=text.link)
    except InvalidValue as error:
        raise InvalidValue(f"/texts: with how often a device answers, in {text.language}: {error}", text) from error


def _with(text: str, sentence: str) -> str:
    return text if sentence in text else f"{text} {sentence}"


def in_english(series: Rotating) -> str:
    """How often about which periods, how often in all, and how close two answers come."""
    apart = f"come at least {duration(series.apart_s)} apart" if series.apart_s else "may follow each other at once"
    return f"At most one answer about {series.turn}, at most {series.answers_max} in all; two answers {apart}."


def in_german(series: Rotating) -> str:
    """The same in German."""
    apart = (
        f"liegen mindestens {_length(series.apart_s, dative=False)} auseinander"
        if series.apart_s
        else "können unmittelbar aufeinander folgen"
    )
    said = f"Höchstens eine Antwort zu {_turn(series)}, höchstens {_number(series.answers_max)} insgesamt"
    return f"{said}; zwei Antworten {apart}."


_SENTENCES: dict[str, Callable[[Rotating], str]] = {"en": in_english, "de": in_german}


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """A length of time in German: 1 Tag, 2 Tage, zu jedem Tag, zu je 2 Tagen."""

    one: str
    more: str
    each: str
    of_more: str


_UNITS = {
    7 * _DAY_S: _Unit(one="Woche", more="Wochen", each="jeder Woche", of_more="Wochen"),
    _DAY_S: _Unit(one="Tag", more="Tage", each="jedem Tag", of_more="Tagen"),
    _HOUR_S: _Unit(one="Stunde", more="Stunden", each="jeder Stunde", of_more="Stunden"),
    60: _Unit(one="Minute", more="Minuten", each="jeder Minute", of_more="Minuten"),
    1: _Unit(one="Sekunde", more="Sekunden", each="jeder Sekunde", of_more="Sekunden"),
}


def _turn(series: Rotating) -> str:
    """The periods that hold at most one answer, as `Rotating.turn` says them in English."""
    unit = _UNITS.get(series.period_s) if series.period_s >= _HOUR_S else None
    if series.slots == 1:
        return unit.each if unit else f"jedem Zeitraum von {_length(series.period_s, dative=True)}"
    periods = unit.of_more if unit else f"Zeiträumen von {_length(series.period_s, dative=True)}"
    return f"je {_number(series.slots)} aufeinanderfolgenden {periods}"


def _length(seconds: int, *, dative: bool) -> str:
    """A length of time in the largest unit, at most a day, of which it is a whole number."""
    size = next(each for each in _UNITS if each <= _DAY_S and seconds % each == 0)
    count, unit = seconds // size, _UNITS[size]
    if count == 1:
        return f"1 {unit.one}"
    return f"{_number(count)} {unit.of_more if dative else unit.more}"


def _number(count: int) -> str:
    return f"{count:,}".replace(",", ".")
