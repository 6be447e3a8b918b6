"""Randomised response and subset selection: weights for an ε at every extreme, exactly uniform subsets."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_analysis.vectorized import randomizers
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_bits
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers import RandomizedResponse, SubsetSelection
from sordino_shared.randomness import Randomness

EPSILONS = [PureEpsilon.of(text) for text in ("0.001", "0.5", "1", "4", "16")]
# Sizes, and the nano-ε that a unit of 2⁻⁶⁰ may cost there at most.
COARSENESS = {2: 0, 3: 0, 64: 0, 4097: 10, 1 << 20: 1300}


def _proved_nano(randomizer: RandomizedResponse | SubsetSelection) -> int:
    proved = prove_epsilon(randomizer)
    assert proved is not None
    return proved.nano


@pytest.mark.parametrize("guarantee", EPSILONS, ids=lambda g: f"{g.epsilon:g}")
@pytest.mark.parametrize("size", COARSENESS)
def test_weights_prove_the_claimed_epsilon_and_none_less_noisy_does(size: int, guarantee: PureEpsilon) -> None:
    response = RandomizedResponse.for_guarantee(size, guarantee)
    assert 0 <= guarantee.nano - _proved_nano(response) <= COARSENESS[size]
    bound = Fraction(exp_lower_bound(guarantee.nano), 2**192)
    less = response.other_weight - 1
    assert Fraction(2**60 - (size - 1) * less, less) > bound
    for chosen in {1, size // 2, size - 1}:
        subset = SubsetSelection.for_guarantee(size, chosen, guarantee)
        assert 0 <= guarantee.nano - _proved_nano(subset) <= COARSENESS[size]
        more = subset.include_weight + 1
        assert Fraction(more * (size - chosen), (2**60 - more) * chosen) > bound


@pytest.mark.parametrize(("size", "width"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 4), (1 << 20, 4)])
def test_indices_take_one_two_or_four_bytes(size: int, width: int) -> None:
    response = RandomizedResponse.for_guarantee(size, PureEpsilon.of(16))
    payloads = randomize_many(response, np.full(2000, size - 1), SeededRandomness(1))
    assert payloads.shape == (2000, width) == (2000, response.payload_bytes)
    assert in_alphabet(response, payloads).all()
    truth = np.frombuffer((size - 1).to_bytes(width, "little"), dtype=np.uint8)
    share = response.own_weight / 2**60
    # Six standard deviations: false alarm 2·10⁻⁹.
    assert abs((payloads == truth).all(axis=1).mean() - share) < 6 * np.sqrt(share * (1 - share) / 2000)
    if size < 256**width:
        beyond = np.frombuffer(size.to_bytes(width, "little"), dtype=np.uint8)
        assert not in_alphabet(response, beyond[None, :]).any()


def test_large_subsets_have_their_size_and_inclusion() -> None:
    subset = SubsetSelection.for_guarantee(4097, 1000, PureEpsilon.of(1))
    payloads = randomize_many(subset, np.full(2500, 4096), SeededRandomness(2))
    assert in_alphabet(subset, payloads).all()
    members = np.unpackbits(payloads, axis=1, bitorder="little")[:, :4097]
    share = subset.include_weight / 2**60
    others = (1000 - share) / 4096
    # Six standard deviations: false alarm 2·10⁻⁹ for the value, and for the mean over the others.
    assert abs(members[:, 4096].mean() - share) < 6 * np.sqrt(share * (1 - share) / 2500)
    assert abs(members[:, :4096].mean() - others) < 1e-3


def coarse_bits(randomness: Randomness, bits: int, count: int) -> np.ndarray:
    """Keys of two bits only, so that most rows have ties; the first call, the coin, stays as it is."""
    drawn = uniform_bits(randomness, bits, count)
    return drawn & np.uint64(3) if bits == 63 else drawn


def test_subsets_are_uniform_though_keys_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm of the chi-square: one in a million."""
    monkeypatch.setattr(randomizers, "uniform_bits", coarse_bits)
    subset = SubsetSelection.for_guarantee(5, 2, PureEpsilon.of(1))
    payloads = randomize_many(subset, np.full(60_000, 1), SeededRandomness(5))
    counts = Counter(payloads[:, 0].tolist())
    with_value = np.array([n for bitmap, n in counts.items() if bitmap & 2])
    without = np.array([n for bitmap, n in counts.items() if not bitmap & 2])
    assert (len(with_value), len(without)) == (4, 6)
    for group in (with_value, without):
        assert ((group - group.mean()) ** 2 / group.mean()).sum() < chi2.isf(1e-6, len(group) - 1)
    share = subset.include_weight / 2**60
    # Six standard deviations; redrawing the coin with the keys would be 40 of them off.
    assert abs(with_value.sum() - 60_000 * share) < 6 * np.sqrt(60_000 * share * (1 - share))


@pytest.mark.parametrize(
    "build",
    [
        lambda: RandomizedResponse(1, 60, 1),
        lambda: RandomizedResponse((1 << 20) + 1, 60, 1),
        lambda: RandomizedResponse(3, 60, 0),
        lambda: RandomizedResponse(3, 60, 2**60 // 3 + 1),
        lambda: RandomizedResponse(3, 15, 1),
        lambda: RandomizedResponse(3, 63, 1),
        lambda: RandomizedResponse(True, 60, 1),
        lambda: RandomizedResponse.for_guarantee(1 << 20, PureEpsilon.of(1), bits=16),
        lambda: RandomizedResponse.for_guarantee(50, PureEpsilon.of("0.001"), bits=16),
        lambda: SubsetSelection(5, 0, 60, 2**59),
        lambda: SubsetSelection(5, 5, 60, 2**59),
        lambda: SubsetSelection(5, 2, 60, 0),
        lambda: SubsetSelection(5, 2, 60, 2**60),
        lambda: SubsetSelection(4, 2, 60, 2**59 - 1),
        lambda: SubsetSelection.for_guarantee(5, 5, PureEpsilon.of(1)),
        lambda: SubsetSelection.for_guarantee(300, 1, PureEpsilon.of("0.001"), bits=16),
    ],
)
def test_constructors_refuse_the_impossible(build: object) -> None:
    assert callable(build)
    with pytest.raises(InvalidValue):
        build()
