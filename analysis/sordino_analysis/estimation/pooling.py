"""One answer from the estimates of several campaigns that asked different people the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import bonferroni_quantile, normal_quantile
from sordino_analysis.figures import SHARE
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False, kw_only=True)
class RegionEstimate:
    """What one campaign says of Q queries: the uncut `values`, `standard_errors` and `population_standard_errors` (Q,).

    They are in `units`; `campaign` is its id, `compared` how many queries its band holds at once, `bias_bound` the
    most by which an answer is off on average.
    """

    campaign: str
    users: int
    level: float
    compared: int
    bias_bound: float
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: Floats
    standard_errors: Floats
    population_standard_errors: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class PooledEstimate:
    """Answers (Q,) about all users of all regions, in `units`; ends of intervals and band are (Q, 2).

    Shares and their ends are cut to [0, 1]; `uncut` (Q,) are the unbiased answers.
    """

    users: int
    level: float
    bias_bound: float
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: Floats
    uncut: Floats
    standard_errors: Floats
    intervals: Floats
    band: Floats
    population_standard_errors: Floats
    population_intervals: Floats


def pooled(regions: Sequence[RegionEstimate]) -> PooledEstimate:
    """Σ_r (n_r/n) answer_r: unbiased for the n = Σ n_r users of all regions, whatever the plan of each.

    Regions have different people, so variances add: Σ_r (n_r/n)² variance_r. Where all regions have the same plan,
    these are the answers that all reports together would have given, for they are linear in the reports. Intervals are
    normal, and the band is Bonferroni's over all queries that are compared. Raises InvalidValue for one region, for a
    campaign that is given twice, for other queries or another level, and for a region without users.
    """
    _check(regions)
    first = regions[0]
    users = sum(region.users for region in regions)
    shares = np.array([region.users / users for region in regions])
    values = shares @ np.array([region.values for region in regions])
    errors = _errors(shares, [region.standard_errors for region in regions])
    population = _errors(shares, [region.population_standard_errors for region in regions])
    quantile = normal_quantile(first.level)
    compared = max(region.compared for region in regions)
    cut = _cut([unit == SHARE for unit in first.units])
    return PooledEstimate(
        users=users,
        level=first.level,
        bias_bound=float(shares @ np.array([region.bias_bound for region in regions])),
        labels=first.labels,
        units=first.units,
        values=cut(values),
        uncut=values,
        standard_errors=errors,
        intervals=cut(_around(values, errors, quantile)),
        band=cut(_around(values, errors, bonferroni_quantile(first.level, compared))),
        population_standard_errors=population,
        population_intervals=cut(_around(values, population, quantile)),
    )


def _check(regions: Sequence[RegionEstimate]) -> None:
    if len(regions) < 2:
        raise InvalidValue(f"two estimates or more are pooled, got {len(regions)}", len(regions))
    first, names = regions[0], [region.campaign for region in regions]
    for place, region in enumerate(regions):
        name = f"campaign {region.campaign}"
        if region.campaign in names[:place]:
            raise InvalidValue(f"{name} is given twice: its users would count twice", region.campaign)
        if (region.labels, region.units) != (first.labels, first.units):
            raise InvalidValue(f"{name} answers other queries than {first.campaign}", region.labels)
        if region.level != first.level:
            raise InvalidValue(f"{name} has level {region.level}, not {first.level}", region.level)
        if region.users < 1:
            raise InvalidValue(f"{name} has no users", region.users)


def _errors(shares: Floats, errors: Sequence[Floats]) -> Floats:
    return np.asarray(np.sqrt(shares**2 @ np.array(errors) ** 2))


def _cut(shares: Sequence[bool]) -> Callable[[Floats], Floats]:
    """What takes values (Q,) or ends (Q, 2) into [0, 1] where they are shares."""

    def cut(values: Floats) -> Floats:
        which = np.array(shares).reshape(-1, *[1] * (values.ndim - 1))
        return np.where(which, np.clip(values, 0.0, 1.0), values)

    return cut


def _around(values: Floats, errors: Floats, quantile: float) -> Floats:
    return np.column_stack([values - quantile * errors, values + quantile * errors])
