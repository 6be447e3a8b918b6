"""ε in words: how far one report moves the odds about an answer. Rounded up, in integers: e > 2.7 is never "2.7".

Of two answers with odds a : b before the report, the odds after it are at most e^ε times as high; from fifty-fifty the
better one has a probability of at most e^ε/(1 + e^ε) (Warner 1965; Kasiviswanathan et al. 2011, definition 2.2).
"""

from __future__ import annotations

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, exp_lower_bound

_BITS = 192
_DIGITS = 3
# From here on a number has more digits than anybody reads.
_LONGEST = 6
_LITTLE_NANO, _NONE_NANO = 5 * NANO, 10 * NANO
_SENTENCES = {
    "en": "Anyone who sees the report: their odds about your answer change at most {odds}-fold. "
    "From fifty-fifty at most to {share} %.",
    "de": "Wer den Bericht sieht: Die Chancen, auf deine Antwort zu schließen, ändern sich höchstens um das "
    "{odds}-Fache. Von fünfzig zu fünfzig auf höchstens {share} %.",
}
_LITTLE = {"en": "This is little protection.", "de": "Das schützt wenig."}
_NONE = {"en": "This is next to none.", "de": "Das schützt so gut wie gar nicht."}
_POINTS = {"en": ".", "de": ","}


def odds(nano: int, point: str = ".") -> str:
    """The least number of three digits that is not below e^(nano·10⁻⁹): 2.72, 54.6, 149, 2.36 · 10^17.

    >>> odds(NANO)
    '2.72'
    """
    # The bound is below e^ε by less than two units.
    upper = exp_lower_bound(nano, _BITS) + (2 if nano else 0)
    whole = len(str(upper >> _BITS))
    places = _DIGITS - whole
    if places >= 0:
        scaled = -(-(upper * 10**places) >> _BITS)
        digits = str(scaled)
        return digits if places == 0 else f"{digits[:-places]}{point}{digits[-places:]}"
    scaled = -(-upper // (10**-places << _BITS))
    if scaled == 10**_DIGITS:
        scaled, places, whole = scaled // 10, places - 1, whole + 1
    if whole <= _LONGEST:
        return str(scaled * 10**-places)
    digits = str(scaled)
    return f"{digits[0]}{point}{digits[1:]} · 10^{whole - 1}"


def share(nano: int, point: str = ".") -> str:
    """e^ε/(1 + e^ε) in percent, rounded up to a tenth, or to as many digits as keep it below 100: 73.2, 99.996.

    Where twenty digits do not keep it below, which is above ε = 50, it is 100.

    >>> share(NANO)
    '73.2'
    """
    upper = exp_lower_bound(nano, _BITS) + (2 if nano else 0)
    one = 1 << _BITS
    places = 1
    while (scaled := -(-(100 * 10**places * upper) // (one + upper))) >= 100 * 10**places and places < 20:
        places += 1
    if scaled == 100 * 10**places:
        return "100"
    return f"{scaled // 10**places}{point}{scaled % 10**places:0{places}d}"


def sentence(nano: int, language: str = "en") -> str:
    """ε for the owner of a device, in English ("en") or German ("de"); regions such as "de-CH" are taken.

    From ε = 5 on it adds that this is little protection, from 10 that it is next to none; for sums of answers, too.
    Raises InvalidValue for another language.
    """
    known = language.split("-")[0].lower() if isinstance(language, str) else language
    if known not in _SENTENCES:
        raise InvalidValue(f"the sentence is in {' and '.join(_SENTENCES)}, not in {language!r}", language)
    point = _POINTS[known]
    said = _SENTENCES[known].format(odds=odds(nano, point), share=share(nano, point))
    if nano >= _NONE_NANO:
        return f"{said} {_NONE[known]}"
    return f"{said} {_LITTLE[known]}" if nano >= _LITTLE_NANO else said
