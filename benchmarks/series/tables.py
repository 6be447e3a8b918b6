"""The tables of the page as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from benchmarks.series import alternatives as other
from benchmarks.series import coverage as covered
from benchmarks.series import smoothing
from benchmarks.series import who_answers as who
from sordino_analysis.estimation.intervals import bonferroni_quantile
from sordino_analysis.panel.rotation import Rotation

_MILLION = Rotation(epsilon=1, variance=other.histogram_variance(1), active=10**6, slots=30, period_s=86_400)


def markdown(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """A table with a head."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def who_answers(daily: int, cycles: int) -> str:
    """Devices younger than 7 days among answers under three laws of the slots."""
    found = [who.shares(law, daily, cycles) for law in who.LAWS]
    head = ("slot law", "share among answers", "first / last five days", "answers·T / alive, first / last five days")
    rows: list[tuple[object, ...]] = [("true share", f"{found[0].true:.4f}", "", "")]
    rows += [
        (one.law, f"{one.answers:.4f}", "{:.3f} / {:.3f}".format(*one.by_place), "{:.3f} / {:.3f}".format(*one.rates))
        for one in found
    ]
    return markdown(head, rows)


def light_users(devices: int, cycles: int) -> str:
    """The share of heavy users."""
    found = who.heavy_shares(devices, cycles)
    return markdown(("heavy users' share of", ""), [(name, f"{share:.3f}") for name, share in found.items()])


def coverage(devices: int, runs: int) -> str:
    """What intervals hold over simulated series."""
    found = covered.coverage(devices, runs)
    rows = [
        ("a day holds its reporters' value", f"{found.day:.1%}"),
        ("a 7-day window holds its reporters' value", f"{found.reporters:.1%}"),
        ("a 7-day window holds the population's value", f"{found.population:.1%}"),
        ("a change between two weeks", f"{found.change:.1%}"),
        ("bias to the population", f"{found.bias[0]:+.4f} ± {found.bias[1]:.4f}"),
        ("z² of windows that share 4 of 7 days", f"{found.overlap:.2f}"),
        ("their variance over that of independent windows", f"{found.ratio:.2f}"),
    ]
    return markdown((f"{found.series} series of {devices:,} devices", ""), rows)


def smoother(runs: int) -> str:
    """Errors of days, weeks and the smoother."""
    found = [smoothing.errors(truth, runs) for truth in smoothing.TRUTHS]
    head = ("truth over 120 days", "rmse day", "7-day centred", "smoother", "its own band: all days / 8 days around 60")
    rows = [
        (
            one.truth,
            f"{one.day:.4f}",
            f"{one.week:.4f}",
            f"{one.smoother:.4f}",
            f"{one.held:.2f} / {one.held_near:.2f}",
        )
        for one in found
    ]
    return markdown(head, rows)


def closed_forms() -> str:
    """Figures at ε = 1, T = 30 and a million active devices."""
    divided = (sqrt(1 + 4 * smoothing.VARIANCE / step**2) for step in (0.001, 0.003, 0.01))
    rows = [
        ("V of a histogram", f"{other.histogram_variance(1):.3f}"),
        ("V of one bit", f"{other.bit_variance(1):.3f}"),
        ("what the population adds at most, histogram", f"{0.25 / other.histogram_variance(1):.0%}"),
        ("what the population adds at most, one bit", f"{0.25 / other.bit_variance(1):.0%}"),
        ("a day's variance at one yearly rate, ε = 1, 2, 4", _list(other.yearly_rate(e) for e in (1, 2, 4))),
        ("smallest change between two weeks", f"{_MILLION.smallest_change(7):.4f}"),
        ("smallest change between two days", f"{_MILLION.smallest_change():.4f}"),
        ("z of a chart of 30, 60 days", _list(bonferroni_quantile(0.95, days) for days in (30, 60))),
        (
            "smoother's variance divided, σ = .001, .003, .01",
            _list(divided),
        ),
    ]
    return markdown(("figure", ""), rows)


def alternatives() -> str:
    """N times the variance of a day, for ε = 1 in T periods."""
    head = ("a day's variance × N", *(f"T = {slots}" for slots in other.SLOTS))
    rows: list[tuple[object, ...]] = [("rotating panel", *(f"{other.panel(slots):.1f}" for slots in other.SLOTS))]
    for name, variance in (("fresh noise daily, ε/T", other.fresh_noise), ("composed to (1, 10⁻⁹)", other.composed)):
        cells = (f"{variance(slots):.0f} (×{variance(slots) / other.panel(slots):.1f})" for slots in other.SLOTS)
        rows.append((name, *cells))
    return markdown(head, rows)


def changes_only() -> str:
    """One bit that changes at most c times, against the panel."""
    head = ("one bit", *(f"T = {periods}" for periods in other.TREE))
    rows: list[tuple[object, ...]] = [
        (f"changes only, c = {c}", *(f"{other.changes_only(periods, c):.0f}" for periods in other.TREE)) for c in (1, 3)
    ]
    rows.append(("rotating panel", *(f"{periods * other.bit_variance(1):.0f}" for periods in other.TREE)))
    return markdown(head, rows)


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
