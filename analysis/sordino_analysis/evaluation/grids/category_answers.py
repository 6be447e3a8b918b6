"""Answers about categories and one ordered attribute: those that are listed, and any other one on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.grids.beside_answers import AnswersBeside
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, CategoryPart, category_family_of
from sordino_analysis.evaluation.grids.category_law import CategoryLaw
from sordino_analysis.evaluation.grids.category_listing import Listed, listed_categories, listed_of
from sordino_analysis.evaluation.grids.category_means import category_mean_variances
from sordino_analysis.evaluation.grids.classes import Classes
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.evaluation.grids.moments import check_no_factors
from sordino_analysis.evaluation.grids.shipped import shipped_category_levels
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# A query of a part by its number, about any members.
Place = tuple[int, Query]
# The worst query is sought among so many of each part that are spread over all, and then among some near the worst.
_SPREAD, _NEAR = 65, 32
# Queries of each part whose bias is computed.
_BIASES = 3


@dataclass(frozen=True, eq=False)
class CategoryAnswers(AnswersBeside):
    """The moments of the answers; `workload` has the `listed` queries, `family` all of them, `law` the decoder."""

    law: CategoryLaw
    family: CategoryFamily
    listed: tuple[Listed, ...]

    @classmethod
    def asks(cls, workload: Workload) -> bool:
        return category_family_of(workload) is not None

    @classmethod
    def listing(cls, workload: Workload) -> Workload:
        family = category_family_of(workload)
        return workload if family is None else listed_categories(workload, family)

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        check_no_factors(factors)
        family = category_family_of(workload)
        if family is None:
            raise InvalidValue("these grids answer about categories and one ordered attribute", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(f"the grids are for {randomizer.sizes} types, not {workload.domain.shape}", workload)
        levels = shipped_category_levels(randomizer, family.axis)
        groups = family.groups(level.apart for level in levels)
        law = CategoryLaw([level.grouped(groups) for level in levels], groups.grouped)
        return cls(
            workload=listed_categories(workload, family),
            randomizer=randomizer,
            law=law,
            groups=groups,
            asked=False,
            family=family.grouped(groups),
            listed=tuple(listed_of(family)),
        )

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        if self.asked:
            return self._profile_of_rows()
        seen: dict[Place, float] = {}
        spread = [(number, query) for number, part in enumerate(self.family.parts) for query in part.samples(_SPREAD)]
        further = spread if len(self.listed) < self.family.count else []
        together = [*dict.fromkeys(one.place for one in self.listed), *further]
        for done, place in enumerate(together):
            self._worst(place, seen)
            progress(Progress(done / len(together)))
        by_type = np.maximum(category_mean_variances(self.law, self.family), 0.0)
        tops = [self._ascended(number, seen) for number in range(len(self.family.parts))] if further else []
        return ErrorProfile(
            variance=np.array([self._worst(one.place, seen) for one in self.listed]),
            bias=np.full(len(self.listed), self._bias()),
            type_variance=by_type,
            weights=np.array([self.family.parts[one.part].weight for one in self.listed]),
            sought=max((seen[top] for top in tops), default=0.0),
            weighted_sought=max((self.family.parts[top[0]].weight * seen[top] for top in tops), default=0.0),
            over=self._over(len(further)),
            uniform=float(by_type.mean()),
        )

    def _over(self, spread: int) -> str | None:
        intervals = sum(part.intervals for part in self.family.parts)
        told = f"{spread} of {intervals} intervals of any member spread over all, and {_NEAR} near the worst"
        return told if spread else None

    def _of(self, part: CategoryPart, query: Query) -> Classes:
        """The query about the first member of each attribute that the part tells apart."""
        return self.law.classes(part.query(self.family.shape, self.family.axis, query))

    def _worst(self, place: Place, seen: dict[Place, float]) -> float:
        """The largest variance over the types of a query of a part, whatever its members are."""
        if place not in seen:
            number, query = place
            seen[place] = float(self.law.class_variances(self._of(self.family.parts[number], query)).max())
        return seen[place]

    def _ascended(self, number: int, seen: dict[Place, float]) -> Place:
        """The worst query met on a way uphill from the worst of a part, its ends moved by steps that halve."""
        best = max((place for place in seen if place[0] == number), key=seen.__getitem__)
        step, tries = max(1, self.family.bins // _SPREAD), 0
        while step and tries < _NEAR:
            near = [(number, query) for query in self.family.parts[number].family.neighbours(best[1], step)]
            tries += max(1, len(near))
            top = max(near, key=lambda place: self._worst(place, seen), default=best)
            if self._worst(top, seen) > self._worst(best, seen):
                best = top
            else:
                step //= 2
        return best

    def _bias(self) -> float:
        """The largest bias of some answers: all are what rounding leaves of a solution."""
        some = [(part, query) for part in self.family.parts for query in part.samples(_BIASES)]
        return max(self.law.class_bias(self._of(part, query)) for part, query in some)
