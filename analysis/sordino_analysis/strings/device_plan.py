"""What devices run to collect strings: a text with its pieces, and levels that each look at one of them."""

from __future__ import annotations

from itertools import pairwise

from sordino_analysis.strings.chances import best_label_bits
from sordino_analysis.strings.levels import LevelPlan
from sordino_shared.domains import Domain, Text, TextCode, TextPrefix
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level


def string_domain(name: str, code: TextCode, ends: tuple[int, ...], normal: str, salt: bytes) -> Domain:
    """A text called `name`, and the pieces of its code that end at `ends`."""
    text = Text(name=name, normal=normal, depth=ends[-1], salt=salt, tokens=code.tokens, lengths=code.lengths)
    pieces = (TextPrefix(f"bits {first} to {last}", first, last) for first, last in pairwise((0, *ends)))
    return Domain((text, *pieces))


def string_device(domain: Domain, plan: LevelPlan, guarantee: PureEpsilon) -> DevicePart:
    """The device part: one family of `coarsened` levels, the held-out one first."""
    count = len(domain.attributes)
    label = FieldLabel(best_label_bits(guarantee.epsilon))
    levels = [
        Level.of_first(chance, GridPartition(tuple(int(at == looked) for at in range(count))), label, 1)
        for looked, chance in enumerate(plan.chances)
    ]
    return DevicePart(domain, guarantee, Coarsened.for_guarantee(domain.shape, levels, guarantee))
