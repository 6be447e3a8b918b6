"""Sentences of an estimate that say what its few reports leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sordino_analysis.estimation.band import BandQuantile
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity


def doubts(
    label: Callable[[int], str], users: int, level: float, normal: Sequence[Normality | None]
) -> tuple[str, ...]:
    """One sentence where so few reports make up the error of some answer that its intervals hold too seldom.

    `label` names an answer by its number.
    """
    doubted = {query: one for query, one in enumerate(normal) if one is not None and one.enough_reports is not None}
    if not doubted:
        return ()
    worst = min(doubted, key=lambda query: min(doubted[query].coverage, doubted[query].population_coverage))
    least = min(doubted[worst].coverage, doubted[worst].population_coverage)
    enough = max(one.enough_reports or 0 for one in doubted.values())
    return (
        f"only {quantity(users, 'user')} reported: intervals of {len(doubted)} of {quantity(len(normal), 'answer')} "
        f"are expected to hold less often than {percent(level)}, that of {label(worst)} in "
        f"{percent(least, 1)} of campaigns; about {enough:,} reports would be enough, fewer at a smaller ε",
    )


def doubts_of_so_few(users: int, level: float, judged_from: int) -> tuple[str, ...]:
    """One sentence where fewer than `judged_from` reports came, so that nobody can say how often intervals hold."""
    if users >= judged_from:
        return ()
    return (
        f"only {quantity(users, 'user')} reported: how often intervals and bands hold is known from {judged_from} "
        f"reports of these grids on, so do not rely on {percent(level)}; wait for more reports",
    )


def doubts_of_the_band(band: BandQuantile, users: int, level: float) -> tuple[str, ...]:
    """One sentence where the quantile of the band could not be worked out for so few reports."""
    if band.holds:
        return ()
    return (
        f"only {quantity(users, 'user')} reported: errors are so skewed that the band may hold all answers less "
        f"often than {percent(level)}; use the interval of one answer, or wait for more reports",
    )
