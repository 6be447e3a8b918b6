"""The mixture of subset sizes: which size decides about ε, how it travels, what is no law."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers import AnyRandomizer, SubsetMixture, SubsetSelection

FIELDS = ("size", "bits", "subset_sizes", "size_weights", "include_weights")
MIXTURE = SubsetMixture.for_guarantee(6, (1, 3, 4), (0.2, 0.5, 0.3), PureEpsilon.of(1))


def test_the_worst_size_decides_about_epsilon() -> None:
    strict = SubsetSelection.for_guarantee(6, 2, PureEpsilon.of(1)).include_weight
    lenient = SubsetMixture(
        size=6, bits=60, subset_sizes=(1, 2), size_weights=(1, (1 << 60) - 1), include_weights=(1 << 59, strict)
    )
    ratio = Fraction(*lenient.likelihood_ratio())
    assert ratio == max(Fraction(*part.likelihood_ratio()) for part in lenient.parts) == 5


def test_it_travels() -> None:
    assert from_plain(AnyRandomizer, to_plain(MIXTURE)) == MIXTURE
    assert (MIXTURE.accumulator_size, MIXTURE.payload_bytes) == (18, 1)


@pytest.mark.parametrize(
    "fields",
    [
        (6, 60, (), (), ()),
        (6, 60, (3, 1), (1 << 59, 1 << 59), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 59, 1 << 58), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 60, 0), (1 << 59, 1 << 59)),
        (6, 60, (1, 6), (1 << 59, 1 << 59), (1 << 59, 1 << 59)),
        (6, 60, (1, 3), (1 << 59, 1 << 59), (1 << 59,)),
        (6, 60, (1, 3), (1 << 59, 1 << 59), (1 << 57, 1 << 59)),
        (1, 60, (1,), (1 << 60,), (1 << 59,)),
    ],
)
def test_what_is_no_law_is_refused(fields: tuple[object, ...]) -> None:
    with pytest.raises(InvalidValue):
        SubsetMixture(**dict(zip(FIELDS, fields, strict=True)))
