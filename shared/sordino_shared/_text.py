r"""Text that people are shown: something of it is visible, and nothing of it is hidden.

A label such as `"ε = 8"` passes, and so does `"🏴‍☠️ pirates"`; `"users\u200b"` does not, and neither does `"\u3164"`.
The sets are written out, since they must be the same on every device: those of Unicode's properties
Default_Ignorable_Code_Point (Bidi_Control is a part of it) and Emoji, as `docs/protocol.md` lists them.
"""

from __future__ import annotations

import re
import unicodedata

# Default_Ignorable_Code_Point; U+061C, U+200E, U+200F, U+202A-202E and U+2066-2069 are Bidi_Control too.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# C0, DEL and C1 (Cc), surrogates (Cs), and the two separators of lines (Zl, Zp).
_CONTROLS = "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
_HIDDEN = re.compile(f"[{_CONTROLS}{_IGNORABLE}]")
# Blocks whose symbols have a form as emoji; what else is in them is visible all the same.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_SHAPED = f"{_EMOJI}[\U0001f3fb-\U0001f3ff]?[\ufe0e\ufe0f]?"
# A keycap; a flag of a region, whose tags are bounded since nobody sees them; emoji that are joined to one.
_EMOJI_SEQUENCE = re.compile(
    "[0-9#*]\ufe0f\u20e3"
    "|\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
    f"|{_SHAPED}(?:\u200d{_SHAPED})*"
)
# Letters and symbols by their category that show nothing.
_EMPTY = frozenset("\u2800\U00013441\U00013442\U0001d159")
_VISIBLE_CATEGORIES = ("L", "N", "P", "S")


def is_legible(text: str) -> bool:
    """Whether nothing is hidden: no control, surrogate, separator of lines or, outside emoji sequences, ignorable."""
    if _HIDDEN.search(text) is None:
        return True
    return _HIDDEN.search(_EMOJI_SEQUENCE.sub("", text)) is None


def is_visible(text: str) -> bool:
    """Whether the text shows anything: a letter, number, punctuation or symbol (L, N, P, S) that is not empty."""
    return any(unicodedata.category(c)[0] in _VISIBLE_CATEGORIES and c not in _EMPTY for c in text)
