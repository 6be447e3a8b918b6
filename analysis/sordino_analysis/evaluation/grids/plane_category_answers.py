"""Answers about categories and two ordered attributes: those that are listed, and any other one on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.grids.beside_answers import AnswersBeside
from sordino_analysis.evaluation.grids.classes import Classes
from sordino_analysis.evaluation.grids.moments import check_no_factors
from sordino_analysis.evaluation.grids.plane_category_law import PlaneCategoryLaw
from sordino_analysis.evaluation.grids.plane_category_listing import (
    ListedRectangle,
    ends_of,
    has_all_listed,
    listed_of,
    listed_rectangles,
    rectangles_of,
)
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, Rectangle, plane_category_family_of
from sordino_analysis.evaluation.grids.shipped import shipped_plane_category_levels
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# A query of a part by its number, about any members.
Place = tuple[int, Rectangle]


@dataclass(frozen=True, eq=False)
class PlaneCategoryAnswers(AnswersBeside):
    """The moments of the answers; `workload` has the `listed` queries, `family` all of them, `law` the decoder."""

    law: PlaneCategoryLaw
    family: PlaneCategoryFamily
    listed: tuple[ListedRectangle, ...]

    @classmethod
    def asks(cls, workload: Workload) -> bool:
        return plane_category_family_of(workload) is not None

    @classmethod
    def listing(cls, workload: Workload) -> Workload:
        family = plane_category_family_of(workload)
        return workload if family is None else listed_rectangles(workload, family)

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        check_no_factors(factors)
        family = plane_category_family_of(workload)
        if family is None:
            raise InvalidValue("these grids answer about categories and two ordered attributes", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(f"the grids are for {randomizer.sizes} types, not {workload.domain.shape}", workload)
        first, second = family.axes
        levels = shipped_plane_category_levels(randomizer, (first, second))
        groups = family.groups(level.apart for level in levels)
        return cls(
            workload=listed_rectangles(workload, family),
            randomizer=randomizer,
            law=PlaneCategoryLaw([level.grouped(groups) for level in levels], groups.grouped),
            groups=groups,
            asked=False,
            family=family.grouped(groups),
            listed=tuple(listed_of(family)),
        )

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        if self.asked:
            return self._profile_of_rows()
        family = self.family
        spread = [(n, one) for n, part in enumerate(family.parts) for one in rectangles_of(family, part)]
        ends = [(n, one) for n, part in enumerate(family.parts) for one in ends_of(family, part)]
        places = [*dict.fromkeys([*spread, *(one.place for one in self.listed), *ends])]
        for done, place in enumerate(places):
            self._worst(place)
            progress(Progress((done + 1) / len(places)))
        weights = [part.weight for part in family.parts]
        by_type = self._mean(spread)
        return ErrorProfile(
            variance=np.array([self._worst(one.place) for one in self.listed]),
            bias=np.full(len(self.listed), self._bias(spread)),
            type_variance=by_type.ravel(),
            weights=np.array([weights[one.part] for one in self.listed]),
            sought=max((self._worst(one) for one in places), default=0.0),
            weighted_sought=max((weights[one[0]] * self._worst(one) for one in places), default=0.0),
            over=self._told(len(spread), len(ends)),
            mean_over=self._told(len(spread), 0),
            uniform=float(by_type.mean()),
        )

    def _told(self, spread: int, ends: int) -> str | None:
        """In words which queries were looked at; None where these are all."""
        if has_all_listed(self.family):
            return None
        rectangles = sum(part.rectangles for part in self.family.parts)
        told = f"{spread} of {rectangles} rectangles of any member spread over all"
        return told + (f", and {ends} at the ends" if ends else "")

    def _mean(self, places: list[Place]) -> Floats:
        """(k₁, k₂) the mean of w_q Var_q over the queries of these places, for the types of any members."""
        found = np.zeros(self.family.plane)
        for number, part in enumerate(self.family.parts):
            asked = [place for place in places if place[0] == number]
            share = part.weight * part.categories(self.family.sizes) * part.rectangles / max(1, len(asked))
            for place in asked:
                found += share * self._found(place)[1]
        return found / self.family.count

    @cached_property
    def _known(self) -> dict[Place, tuple[float, Floats]]:
        return {}

    def _found(self, place: Place) -> tuple[float, Floats]:
        """The largest variance of a query, whatever its members are, and the mean over members for each (k₁, k₂)."""
        if place not in self._known:
            query = self._of(place)
            variances = self.law.class_variances(query)
            self._known[place] = float(variances.max()), query.means(variances)
        return self._known[place]

    def _worst(self, place: Place) -> float:
        return self._found(place)[0]

    def _of(self, place: Place) -> Classes:
        number, rectangle = place
        return self.law.classes(self.family.parts[number].query(self.family.shape, self.family.axes, rectangle))

    def _bias(self, places: list[Place]) -> float:
        """The largest bias of some answers: all are what the rounding of a solution leaves."""
        some = places[:: max(1, math.isqrt(len(places)))]
        return max(self.law.class_bias(self._of(place)) for place in some)
