"""How many users a scheme of Aldà and Simon's needs to be useful, and what answers for each database take.

Strongly useful (Definition 5): within α with probability 1 − β. Weakly useful (Definition 6): it tells databases that
the rule says no to from those that it says yes to. Both by the normal approximation, unless the paper's bound is named.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from sordino_analysis.optimisation.arrangements.margins import users_of_scheme
from sordino_shared.errors import InvalidValue

# 2^k of more cells squared leaves double precision; at so many the variance is beyond any number of users.
_MOST_INDICATORS = 500


def strong_users(variance: float, error: float, failure: float) -> int:
    """n with z_{1−β/2}²·Var/α²; raises InvalidValue for α or β that is not between 0 and ½."""
    _check(error, failure)
    return max(1, math.ceil(float(ndtri(1 - failure / 2)) ** 2 * variance / error**2))


def weak_users(variance: float, failure: float) -> int:
    """n with (2 z_{1−β})²·Var: the answer errs by ½ on one side."""
    _check(0.5, failure)
    return max(1, math.ceil((2 * float(ndtri(1 - failure))) ** 2 * variance))


def one_attribute_variance(indicators: int, separation: float, epsilon: float) -> float:
    """Variance of one report of a random one of k indicators by randomised response, class means ‖m₁ − m₀‖² apart.

    Raises InvalidValue where the means are the same.
    """
    if separation <= 0:
        raise InvalidValue("the means of both classes are the same: no single indicator tells them apart", separation)
    return indicators / (math.tanh(epsilon / 2) ** 2 * separation)


def worst_case_variance(indicators: int, width: int, epsilon: float) -> float:
    """Variance of the best unbiased answers to all conjunctions of w of k indicators, for every population, ε ≤ ln 3.

    (2^−w Σ_{j≥1} √(C(k,j)·C(w,j)))²/tanh²(ε/2): the closed form of `fourier` for rules without a label.
    """
    orbits = range(1, width + 1)
    weights = math.fsum(math.sqrt(math.comb(indicators, j) * math.comb(width, j)) for j in orbits)
    return float((weights / 2**width / math.tanh(epsilon / 2)) ** 2)


def response_variance(indicators: int, share: float, epsilon: float) -> float:
    """Variance of one report of all 2^k cells by randomised response, for a rule that says yes to this share of them.

    It holds for every population. A report is in the rule with probability P = (c + s(e^ε − 1))/(e^ε − 1 + 2^k), with c
    cells in the rule and a share s of users there; the variance P(1 − P)((e^ε − 1 + 2^k)/(e^ε − 1))² is the largest
    over s.
    """
    gain, cells = math.expm1(epsilon), math.ldexp(1.0, min(indicators, _MOST_INDICATORS))
    scale = 1 + cells / gain
    least = share * cells / (gain + cells)
    yes = min(max(0.5, least), least + 1 / scale)
    return yes * (1 - yes) * scale**2


def laplace_variance(indicators: int, separation: float, epsilon: float) -> float:
    """Variance of one report with Laplace noise of scale k/ε on each of k bits, for ±1 class means ‖m₁ − m₀‖² apart."""
    return 4 * (2 * (indicators / epsilon) ** 2 + 0.25) / separation


def lemma_users(indicators: int, epsilon: float, error: float, failure: float) -> int:
    """(20) for conjunctions with the margin 1/(4k) of Aldà and Simon's Lemma 9."""
    return users_of_scheme(indicators + 1, 1 / (4 * indicators), epsilon, error, failure)


def margin_users(indicators: int, width: int, epsilon: float, error: float, failure: float) -> int:
    """(20) with the true margin of the vectors in Aldà and Simon's Lemma 9."""
    return users_of_scheme(indicators + 1, conjunction_margin(indicators, width), epsilon, error, failure)


def conjunction_margin(indicators: int, width: int) -> float:
    """(γ₀ + γ₁)/2 of the unit vectors in Aldà and Simon's Lemma 9 for w of k bits that are on, by counting bits."""
    threshold = width - 0.5
    length = math.sqrt(width + threshold**2 / indicators)
    free = indicators - width

    def mean(satisfied: int) -> float:
        """The mean of ⟨u_x, v⟩ over the other bits, where `satisfied` of the rule's bits are on."""
        shares = (math.comb(free, on) * 0.5**free / math.sqrt(satisfied + on + indicators) for on in range(free + 1))
        return (satisfied - threshold) / length * math.fsum(shares)

    below = math.fsum(math.comb(width, true) * mean(true) for true in range(width)) / float(2**width - 1)
    return (mean(width) - below) / 2


def _check(error: float, failure: float) -> None:
    if not (0 < error <= 0.5 and 0 < failure <= 0.5):
        raise InvalidValue(f"error and chance of failure are between 0 and 1/2, got {error} and {failure}", error)
