"""Exact draws a second of one core, beside OpenDP's where it is installed: `pip install opendp`, for this alone."""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module

from sordino_analysis.curator.noise import CuratorNoise

_VARIANCES = (Fraction(1, 4), Fraction(41, 2), Fraction(10**6), Fraction(2**40))


def table(*, quick: bool) -> Iterator[str]:
    """A line a variance of the discrete Gaussian."""
    count = 2_000 if quick else 200_000
    yield "| σ² | draws a second | OpenDP |"
    yield "|---" * 3 + "|"
    for variance in _VARIANCES:
        own = _rate(lambda count, variance=variance: CuratorNoise().gaussian(variance, count), count)
        yield f"| {float(variance):g} | {own:,.0f} | {_of_opendp(variance, count // 20)} |"
    yield f"| ball of ℓ∞, 64 dimensions, Δ/ε = 100 | {_rate(_ball, count // 20):,.0f} | |"


def _ball(count: int) -> object:
    return CuratorNoise().ball(Fraction(100), 64, count)


def _of_opendp(variance: Fraction, count: int) -> str:
    try:
        prelude = import_module("opendp.prelude")
    except ImportError:
        return "skipped: not installed"
    prelude.enable_features("contrib")
    domain = prelude.vector_domain(prelude.atom_domain(T=int))
    gaussian = prelude.m.make_gaussian(domain, prelude.l2_distance(T=float), scale=float(variance) ** 0.5)
    return f"{_rate(lambda count: gaussian([0] * count), count):,.0f}"


def _rate(draw: Callable[[int], object], count: int) -> float:
    draw(64)
    started = time.process_time()
    draw(count)
    return count / (time.process_time() - started)
