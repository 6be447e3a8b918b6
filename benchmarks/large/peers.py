"""Variances of published mechanisms in closed form, of one report and for users who are spread evenly.

Frequency oracles: Erlingsson, Pihur, Korolova 2014 (unary encoding), Wang et al. 2017 (optimised unary encoding and
local hashing), Acharya, Sun, Zhang 2019 (Hadamard response), Feldman et al. 2022 (projective geometry). Trees and
wavelets: Cormode, Kulkarni, Srivastava 2019, both decoded by least squares. Parities: the same authors 2018.
"""

import math

import numpy as np
from numpy.typing import NDArray

_STEPS = 300
Peers = dict[str, float]


def histogram_peers(epsilon: float, objective: str) -> Peers:
    """Of single items among very many: of somebody who does not hold the item, or of the worse of both."""
    high = math.exp(epsilon)
    half = math.exp(epsilon / 2)
    wanted = high + 1
    sets = {
        "unary": (half / (half + 1), 1 / (half + 1)),
        "optimised unary": (0.5, 1 / wanted),
        "Hadamard": _answered(0.5, epsilon),
        "local hashing": _answered(1 / max(2, round(wanted)), epsilon),
        "projective geometry": _answered(1 / _nearest_prime_power(wanted), epsilon),
    }
    return {name: _variance(own, other, objective) for name, (own, other) in sets.items()}


def interval_peers(kind: str, types: int, epsilon: float) -> Peers:
    """Mean over all prefix sums or ranges of 2^h types: a binary tree by local hashing, and Haar wavelets by signs.

    A query has at most one Haar coefficient on each level for either end. On a level with nodes of w types it is the
    distance of the cut from the node's nearer end over w. A tree's reports about blocks of u ≤ w/2 types tell s₀·u of
    a wavelet of w types, and those about larger blocks nothing; a sign of the wavelets tells tanh²(ε/2) of each.
    """
    widths = 2 ** np.arange(1, types.bit_length())
    squares = np.array([_mean_square(kind, types, int(width)) for width in widths])
    told = 1 / _variance(*_answered(1 / max(2, round(math.exp(epsilon) + 1)), epsilon), "mean")
    # The part of the second moment that is the answer itself.
    answer = float((squares * widths).sum()) / types
    signs = float(np.sqrt(squares).sum()) ** 2 / math.tanh(epsilon / 2) ** 2
    even = np.full(len(widths), 1 / len(widths))
    return {
        "tree with local hashing": _tree(even, widths, squares) / told - answer,
        "such a tree, best levels": _tree(_best_levels(widths, squares), widths, squares) / told - answer,
        "Haar": signs - answer,
    }


def marginal_peers(attributes: int, width: int, epsilon: float) -> Peers:
    """Mean over the marginals of exactly `width` binary attributes: a random parity by randomized response."""
    total = math.comb(attributes, width) * 4.0**width
    orders = range(1, width + 1)
    needed = [math.comb(attributes - order, width - order) / total for order in orders]
    counts = [math.comb(attributes, order) for order in orders]
    first = sum(number * math.sqrt(need) for number, need in zip(counts, needed, strict=True)) ** 2
    second = sum(number * need for number, need in zip(counts, needed, strict=True))
    return {"one parity": first / math.tanh(epsilon / 2) ** 2 - second}


def _answered(density: float, epsilon: float) -> tuple[float, float]:
    """Chances that a set of this density, e^ε times likelier where it holds the own item, holds it and another."""
    return math.exp(epsilon) * density / (1 + density * math.expm1(epsilon)), density


def _variance(own: float, other: float, objective: str) -> float:
    spread = max(own * (1 - own), other * (1 - other)) if objective == "max" else other * (1 - other)
    return spread / (own - other) ** 2


def _nearest_prime_power(number: float) -> int:
    return min(filter(_is_prime_power, range(2, 2 * math.ceil(number) + 1)), key=lambda each: abs(each - number))


def _is_prime_power(number: int) -> bool:
    factor = next(each for each in range(2, number + 1) if number % each == 0)
    while number % factor == 0:
        number //= factor
    return number == 1


def _mean_square(kind: str, types: int, width: int) -> float:
    """Mean over the queries of the squared coefficients on the level of wavelets of `width` types."""
    inside = np.arange(width)
    coefficients = np.minimum(inside, width - inside) / width
    nodes, square = types // width, float((coefficients**2).sum())
    if kind == "prefix":
        return nodes * square / (types - 1)
    # Over all pairs of the k + 1 cuts: Σ c_a² + c_b², less 2·c_a·c_b where both are in one node.
    return nodes * ((types + 1) * square - float(coefficients.sum()) ** 2) / (types * (types + 1) / 2 - 1)


def _tree(chances: NDArray[np.float64], widths: NDArray[np.int64], squares: NDArray[np.float64]) -> float:
    """Σ_w c_w²·w/Σ_{u ≤ w/2} p_u·u."""
    return float((squares * widths / np.cumsum(chances * widths / 2)).sum())


def _best_levels(widths: NDArray[np.int64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chances with the least variance, by multiplicative steps that never increase it."""
    blocks = widths / 2
    chances = np.full(len(widths), 1 / len(widths))
    for _ in range(_STEPS):
        slopes = squares * widths / np.cumsum(chances * blocks) ** 2
        moved = chances * np.sqrt(blocks * np.cumsum(slopes[::-1])[::-1])
        chances = moved / moved.sum()
    return chances
