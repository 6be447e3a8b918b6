"""Answers for the items of a histogram that is too long to list: for those that are asked, or for the largest.

Each report holds an item independently of the others, with chance p or q, so that the number N of reports that do
is at most as spread as a binomial of n draws with the mean chance q + (p − q)h (Hoeffding 1956, Theorem 4). Clopper and
Pearson's interval of that chance is therefore one of the share h of the reporters, and of the population that they are
drawn from, at any number of users. The band has 1/k of the error for each of the k items, so that it holds all of them
at once: also those that were chosen after looking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.estimation.best.average import rounded
from sordino_analysis.estimation.best.mixing import mixed_of_alike
from sordino_analysis.estimation.consistency import project_onto_simplex
from sordino_analysis.estimation.linear import EstimationError, check_aggregate
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.item_answers import ItemChances
from sordino_analysis.evaluation.item_counts import counts_of_all
from sordino_shared.domains import Domain, Hashed
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

# So many of the items are in the estimate of a closed round.
MOST_PUBLISHED_ITEMS = 1000
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemEstimate:
    """Shares of m items: `codes` (m, attributes) are the indices of their members, all else has the shape (m,).

    `value` is `uncut`, which is unbiased, cut to [0, 1]; `interval` (m, 2) is for an item that was chosen before,
    `band` (m, 2) for all items of the histogram at once. `best` are posterior means from the table of all items, and
    ends hold them; without a table, the nearest shares of these items that are not negative and sum to at most 1.
    """

    codes: Words
    labels: tuple[str, ...]
    value: Floats
    uncut: Floats
    standard_error: Floats
    population_standard_error: Floats
    interval: Floats
    band: Floats
    best: Floats
    users: int
    level: float
    warnings: tuple[str, ...]

    @property
    def population_interval(self) -> Floats:
        """(m, 2) the same as `interval`, which holds the population's shares too."""
        return self.interval


@dataclass(frozen=True, eq=False)
class GuessedItems:
    """Best guesses `shares` (m,) at items that so many reports hold: `counts` (m,), rising."""

    counts: Integers
    shares: Floats

    def of(self, counts: Integers) -> Floats:
        """(…,) of items with these counts, which some item of the table has."""
        return np.asarray(self.shares[np.searchsorted(self.counts, counts)])


@dataclass(frozen=True, eq=False)
class ItemEstimator:
    """A plan of single items made ready to answer; raises EstimationError where its reports are not about these."""

    device: DevicePart
    analyst: AnalystPart

    def __post_init__(self) -> None:
        if self.analyst.device_digest != self.device.digest:
            raise EstimationError("the two parts are not of one plan")
        if not isinstance(self.device.randomizer, Coarsened) or not isinstance(
            self.analyst.decoder, ScaledHistogramDecoder
        ):
            raise EstimationError(f"reports of {self.analyst.mechanism} are not about single items")

    @property
    def randomizer(self) -> Coarsened:
        """The plan's randomizer."""
        assert isinstance(self.device.randomizer, Coarsened)
        return self.device.randomizer

    @property
    def decoder(self) -> ScaledHistogramDecoder:
        """The plan's decoder."""
        assert isinstance(self.analyst.decoder, ScaledHistogramDecoder)
        return self.analyst.decoder

    def of_counts(
        self, codes: Words, counts: Integers, users: int, level: float = 0.95, guessed: GuessedItems | None = None
    ) -> ItemEstimate:
        """Shares of the items that `counts` (m,) of the users' reports hold; raises EstimationError without users.

        Best guesses are those of the table of all items where it is `guessed`.
        """
        if not users:
            raise EstimationError("no report was counted in this round, so there is nothing to estimate")
        if not 0 < level < 1:
            raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
        chances, decoder = ItemChances.of(self.randomizer), self.decoder
        uncut = decoder.offset + decoder.slope * counts / users
        value = np.clip(uncut, 0.0, 1.0)
        own, other = chances.variances(decoder)
        seen = (counts + 1) / (users + 2)
        reporters = other + (own - other) * value
        error = (1 - level) / self.randomizer.size
        interval, band = (self._shares(_clopper_pearson(counts, users, each)) for each in (1 - level, error))
        best = _nearest_shares(codes, uncut) if guessed is None else guessed.of(counts)
        if guessed is not None:
            interval, band = (_holding(best, ends) for ends in (interval, band))
        return ItemEstimate(
            codes=codes,
            labels=tuple(map(self.device.domain.describe, codes.tolist())),
            value=value,
            uncut=uncut,
            standard_error=np.sqrt(reporters / users),
            population_standard_error=decoder.slope * np.sqrt(seen * (1 - seen) / users),
            interval=interval,
            band=band,
            best=best,
            users=users,
            level=level,
            warnings=_collisions(self.device.domain),
        )

    def published(self, aggregate: Aggregate) -> ItemEstimate:
        """What the estimate of a closed round lists: the largest items, or none where the reports make no table."""
        if self.randomizer.table_sizes[0]:
            return self.largest(aggregate, MOST_PUBLISHED_ITEMS)
        self.check(aggregate)
        none = np.zeros((0, len(self.device.domain.attributes)), dtype=np.uint64)
        found = self.of_counts(none, np.zeros(0, dtype=np.int64), aggregate.count)
        note = (
            f"none of {self.randomizer.size} items is listed: ask for items by their values, "
            "which are counted in the reports one by one while these are kept"
        )
        return replace(found, warnings=(note, *found.warnings))

    def check(self, aggregate: Aggregate) -> None:
        """Raise EstimationError where there are no reports, or sums of another plan."""
        check_aggregate(self.device, aggregate)

    def largest(self, aggregate: Aggregate, most: int, level: float = 0.95) -> ItemEstimate:
        """The `most` largest of all items by their answers, from the table of a round; ties go to the first.

        No question was fixed before, so that their intervals are the band.
        """
        self.check(aggregate)
        counts = counts_of_all(self.randomizer, aggregate.sums)
        chosen = _largest(counts, most)
        codes = np.stack(np.unravel_index(chosen, self.device.domain.shape), axis=1).astype(np.uint64)
        guessed = self.guessed(counts, aggregate.count)
        found = self.of_counts(codes, counts[chosen], aggregate.count, level, guessed)
        note = (
            f"these are the {len(chosen)} largest of {len(counts)} items by their answers, which makes them look "
            "larger than they are: their intervals are the band, which allows for the choice"
        )
        return replace(found, interval=found.band, warnings=(note, *found.warnings))

    def guessed(self, counts: Integers, users: int) -> GuessedItems:
        """Guesses at all items, which so many reports of the users hold: `counts` (k,).

        By empirical Bayes over the items, or by the nearest shares where the estimate of risk says so.
        """
        alike = np.bincount(counts)
        held = np.flatnonzero(alike)
        values = self.decoder.offset + self.decoder.slope * held / users
        own, other = ItemChances.of(self.randomizer).variances(self.decoder)
        variances = (other + (own - other) * np.clip(values, 0.0, 1.0)) / users
        found = mixed_of_alike(values, variances, alike[held].astype(float))
        return GuessedItems(held.astype(np.int64), np.minimum(rounded(found.shares), 1.0))

    def _shares(self, chances: Floats) -> Floats:
        """Chances of a report to hold an item as the item's share."""
        return np.clip(self.decoder.offset + self.decoder.slope * chances, 0.0, 1.0)


def _largest(counts: Integers, most: int) -> NDArray[np.intp]:
    """Places of the `most` largest counts, largest first, ties in order."""
    if len(counts) > most:
        bar = np.partition(counts, len(counts) - most)[len(counts) - most]
        above, at = np.flatnonzero(counts > bar), np.flatnonzero(counts == bar)
        places = np.concatenate([above, at[: most - len(above)]])
    else:
        places = np.arange(len(counts))
    return places[np.lexsort((places, -counts[places]))]


def _nearest_shares(codes: Words, values: Floats) -> Floats:
    """(m,) the projection of the values of distinct items onto shares that are not negative and sum to at most 1."""
    if not len(values):
        return values
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    nearest = np.maximum(values[first], 0.0)
    if nearest.sum() > 1:
        nearest = project_onto_simplex(values[first])
    return np.asarray(nearest[place.ravel()])


def _holding(best: Floats, ends: Floats) -> Floats:
    """Ends (m, 2) that are widened to the best guesses (m,): they hold the truth no less often."""
    return np.stack([np.minimum(ends[:, 0], best), np.maximum(ends[:, 1], best)], axis=1)


def _clopper_pearson(counts: Integers, users: int, error: float) -> Floats:
    """(m, 2) the chances that are not refused at error/2 on either side."""
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), users - counts + 1, error / 2), 0.0)
    high = np.where(counts < users, 1 - betaincinv(np.maximum(users - counts, 1), counts + 1, error / 2), 1.0)
    return np.stack([low, high], axis=1)


def _collisions(domain: Domain) -> tuple[str, ...]:
    """One sentence for each hashed attribute: the share that other texts add."""
    return tuple(
        f"answers about {attribute.name} include, on average over salts, 2^-{attribute.bits} of the users of all other "
        "texts, whose hashes are the same"
        for attribute in domain.attributes
        if isinstance(attribute, Hashed)
    )
