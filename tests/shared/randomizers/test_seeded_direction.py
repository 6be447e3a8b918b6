"""The seeded direction: exact coin, public seed, and a mean direction that is the value's own.

With d dimensions, ĝ = g/|g| and c_d = E|ĝ₁| = Γ(d/2)/(√π Γ((d+1)/2)), E[(2·bit − 1) ĝ] = (2w/2^bits − 1) c_d r/|r|.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import SeededDirection

DRAWS = 200_000
ATOMS_SHA256 = "d77597638cb9ccfab3e194fad2405b422e480da447b4b1c1cf66311b4608c6bd"


def atoms() -> np.ndarray:
    """(32768,) the positive atoms as shipped."""
    return np.frombuffer(
        resources.files("sordino_shared.randomizers").joinpath("normal_atoms.bin").read_bytes(), dtype="<i2"
    )


def mean_length(dimension: int) -> float:
    """c_d."""
    return math.gamma(dimension / 2) / (math.sqrt(math.pi) * math.gamma((dimension + 1) / 2))


def one_vector(vector: list[int], epsilon: float) -> SeededDirection:
    """Two types with opposite vectors at the largest keep weight."""
    keep = SeededDirection.largest_keep_weight(PureEpsilon.of(epsilon))
    weights = array_of(np.full(2, keep, dtype=np.uint64), "<u8")
    return SeededDirection(60, array_of(np.array([vector, [-x for x in vector]]), "<i4"), weights)


def decoded(payloads: np.ndarray, dimension: int) -> np.ndarray:
    """(n, d) signed unit directions."""
    g = directions(payloads[:, :16], dimension).astype(np.float64)
    signs = 2.0 * payloads[:, 16] - 1
    unit: np.ndarray = signs[:, None] * g / np.linalg.norm(g, axis=1)[:, None]
    return unit


def standard_scores(payloads: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Deviations of the mean decoded direction in standard errors."""
    units = decoded(payloads, len(expected))
    return np.abs(units.mean(axis=0) - expected) / (units.std(axis=0) / math.sqrt(len(units)))


def test_the_atoms_are_the_bin_means_of_a_normal() -> None:
    assert hashlib.sha256(atoms().tobytes()).hexdigest() == ATOMS_SHA256
    tails = 0.5 - np.arange(32769) / 65536
    with np.errstate(divide="ignore"):
        edges = norm.isf(tails)
    means = (norm.pdf(edges[:-1]) - norm.pdf(edges[1:])) * 65536
    # A mean that lies on a half may round either way in the last bit of the special functions: none does.
    assert (atoms() == np.maximum(1, np.rint(means * 4096))).all()


def test_the_atoms_stand_for_a_normal_up_to_what_is_claimed() -> None:
    sizes = atoms().astype(np.float64)
    ratio = sizes.mean() / math.sqrt((sizes**2).mean()) / math.sqrt(2 / math.pi) - 1
    assert 7e-7 < ratio < 9e-7
    _, counts = np.unique(atoms(), return_counts=True)
    assert float(((counts / 32768) ** 2).sum()) == pytest.approx(1.4e-4, rel=0.01)


def test_directions_are_rows_of_signed_atoms_from_shake() -> None:
    seeds = np.arange(48, dtype=np.uint8).reshape(3, 16)
    drawn = directions(seeds, 5)
    for seed, row in zip(seeds, drawn, strict=True):
        stretched = hashlib.shake_128(b"sordino/v1/direction" + seed.tobytes()).digest(10)
        words = [int.from_bytes(stretched[i : i + 2], "little") for i in range(0, 10, 2)]
        assert row.tolist() == [int(atoms()[w & 0x7FFF]) * (-1 if w >> 15 else 1) for w in words]
    assert directions(seeds[:0], 5).shape == (0, 5)
    assert (directions(seeds, 3) == drawn[:, :3]).all()


def test_the_seed_tells_nothing_and_the_bit_is_the_coin(plane_directions: SeededDirection) -> None:
    """Seeds: chi-square over bytes, false alarm 10⁻⁶ a value. Bits: six standard deviations, 2·10⁻⁹."""
    vectors, weights = ndarray(plane_directions.vectors), ndarray(plane_directions.keep_weights)
    for cell in range(3):
        payloads = randomize_many(plane_directions, np.full(DRAWS, cell), SeededRandomness(cell))
        assert in_alphabet(plane_directions, payloads).all()
        counts = np.bincount(payloads[:, :16].ravel(), minlength=256)
        mean = DRAWS * 16 / 256
        assert ((counts - mean) ** 2 / mean).sum() < chi2.isf(1e-6, 255)
        products = (map(lambda a, b: int(a) * int(b), g, vectors[cell]) for g in directions(payloads[:20_000, :16], 3))
        positive = np.array([sum(product) >= 0 for product in products])
        kept = (positive == payloads[:20_000, 16]).mean()
        share = int(weights[cell]) / 2**60
        assert abs(kept - share) < 6 * math.sqrt(share * (1 - share) / 20_000)


@pytest.mark.parametrize(
    ("vector", "epsilon"),
    [
        ([3, -4], 1),
        ([2**31 - 1, 1 - 2**31, 5, 0], 2),
        pytest.param([7], 1, marks=pytest.mark.slow),
        pytest.param([900, -300, 100], 0.5, marks=pytest.mark.slow),
        pytest.param([1] * 10, 4, marks=pytest.mark.slow),
    ],
)
def test_the_mean_direction_is_the_vectors_own_and_its_length_is_known(vector: list[int], epsilon: float) -> None:
    """Accepted within four standard errors in each of at most 10 dimensions: false alarm below 6·10⁻⁴, seeded.

    A length that is a tenth off is refused.
    """
    randomizer = one_vector(vector, epsilon)
    payloads = randomize_many(randomizer, np.zeros(DRAWS, dtype=np.int64), SeededRandomness(3))
    advantage = math.tanh(epsilon / 2)
    unit = np.array(vector) / np.linalg.norm(vector)
    expected = advantage * mean_length(len(vector)) * unit
    assert standard_scores(payloads, expected).max() < 4
    assert standard_scores(payloads, 1.1 * expected).max() > 4
    opposite = randomize_many(randomizer, np.ones(DRAWS, dtype=np.int64), SeededRandomness(4))
    assert standard_scores(opposite, -expected).max() < 4


def test_a_zero_vector_has_no_direction(plane_directions: SeededDirection) -> None:
    """Four standard errors in each of three dimensions: false alarm 2·10⁻⁴, seeded."""
    payloads = randomize_many(plane_directions, np.full(DRAWS, 2), SeededRandomness(6))
    assert standard_scores(payloads, np.zeros(3)).max() < 4


def test_one_dimension_is_exact() -> None:
    """Directions are ±1, equally likely by the table; so the mean is (2w/2^bits − 1)·sign(r) with no approximation."""
    randomizer = one_vector([-5], 1)
    payloads = randomize_many(randomizer, np.zeros(1000, dtype=np.int64), SeededRandomness(1))
    assert set(np.abs(decoded(payloads, 1)).ravel().tolist()) == {1.0}
    assert mean_length(1) == pytest.approx(1.0)
    assert int(atoms().min()) >= 1


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1, 4, 16])
def test_the_largest_keep_weight_proves_its_epsilon_and_the_next_does_not(epsilon: float) -> None:
    guarantee = PureEpsilon.of(epsilon)
    randomizer = one_vector([1, 2], epsilon)
    assert prove_epsilon(randomizer) == guarantee
    above = array_of(ndarray(randomizer.keep_weights) + np.uint64(2**28), "<u8")
    proved = prove_epsilon(SeededDirection(60, randomizer.vectors, above))
    assert proved is not None
    assert proved > guarantee


def test_epsilon_is_the_worst_pair_of_coins(plane_directions: SeededDirection) -> None:
    """For one seed the two signs are free: brute force over signs, types and bits."""
    coins = [Fraction(int(w), 2**60) for w in ndarray(plane_directions.keep_weights)]
    chances = [share for coin in coins for share in (coin, 1 - coin)]
    worst = max(a / b for a in chances for b in chances)
    assert Fraction(*plane_directions.likelihood_ratio()) == worst


def test_payloads_outside_of_the_alphabet(plane_directions: SeededDirection) -> None:
    payloads = np.zeros((3, 17), dtype=np.uint8)
    payloads[:, 16] = (0, 1, 2)
    assert in_alphabet(plane_directions, payloads).tolist() == [True, True, False]
    assert (plane_directions.payload_bytes, plane_directions.accumulator_size) == (17, 3)


def test_large_dimensions_stay_exact_and_small_in_memory() -> None:
    """At the extremes of entry and dimension the inner product still fits 64 bits."""
    vector = [2**31 - 1] * (1 << 16)
    randomizer = one_vector(vector, 16)
    payloads = randomize_many(randomizer, np.zeros(130, dtype=np.int64), SeededRandomness(1))
    exact = [sum(map(int, g)) >= 0 for g in directions(payloads[:, :16], 1 << 16)]
    # At ε = 16 the coin flips once in 9·10⁶.
    assert payloads[:, 16].tolist() == [int(positive) for positive in exact]


@pytest.mark.parametrize(
    ("vectors", "weights", "bits"),
    [
        (np.ones((2, 2)), [2**59, 2**60], 60),
        (np.ones((2, 2)), [2**59, 0], 60),
        (np.ones((2, 2)), [2**59], 60),
        (np.ones((1, 2)), [2**59], 60),
        (np.ones(2), [2**59, 2**59], 60),
        (np.ones((2, (1 << 16) + 1)), [2**59, 2**59], 60),
        (np.ones((2, 2)), [1, 1], 63),
    ],
)
def test_constructors_refuse_the_impossible(vectors: np.ndarray, weights: list[int], bits: int) -> None:
    with pytest.raises(InvalidValue):
        SeededDirection(bits, array_of(vectors, "<i4"), array_of(np.array(weights, dtype=np.uint64), "<u8"))


def _mean_in_the_plane(angle: float) -> np.ndarray:
    """E[sign⟨g, r⟩ ĝ] for d = 2 and r at the angle, summed over all pairs of atoms."""
    sizes, counts = np.unique(atoms().astype(np.float64), return_counts=True)
    weights, r, total = counts / 32768, np.array([math.cos(angle), math.sin(angle)]), np.zeros(2)
    for rows in np.array_split(np.arange(len(sizes)), 40):
        x, y, pairs = sizes[rows, None], sizes[None, :], weights[rows, None] * weights[None, :] / 2
        shares = pairs / np.sqrt(x * x + y * y)
        for sign in (1, -1):
            sided = shares * np.sign(x * r[0] + sign * y * r[1])
            total += (float((sided * x).sum()), float((sided * sign * y).sum()))
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "bias"), [(0.0, 1e-6), (0.3, 1e-6), (math.pi / 4 + 1e-9, 1.1e-4)])
def test_the_bias_in_the_plane_is_what_is_claimed(angle: float, bias: float) -> None:
    truth = 2 / math.pi * np.array([math.cos(angle), math.sin(angle)])
    found = float(np.linalg.norm(_mean_in_the_plane(angle) - truth)) / (2 / math.pi)
    assert bias / 100 < found < bias
