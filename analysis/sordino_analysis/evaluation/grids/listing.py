"""The forms of grids: which one answers a workload, and which of its queries are listed."""

from __future__ import annotations

from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.evaluation.grids.category_answers import CategoryAnswers
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.grids.plane_answers import PlaneAnswers
from sordino_analysis.evaluation.grids.plane_category_answers import PlaneCategoryAnswers
from sordino_analysis.questions.linear import Workload

# No workload is asked of two of them.
FORMS: tuple[type[GridMoments], ...] = (GridAnswers, PlaneAnswers, CategoryAnswers, PlaneCategoryAnswers)


def form_of(workload: Workload) -> type[GridMoments] | None:
    """The form whose grids decode all queries of a workload without a list of them; None where there is none."""
    return next((form for form in FORMS if form.asks(workload)), None)


def listed_by_grids(workload: Workload) -> Workload:
    """The workload with the listed queries only; one that no grids answer is returned as it is."""
    form = form_of(workload)
    return workload if form is None else form.listing(workload)


def answered_by_grids(workload: Workload) -> bool:
    """Whether all queries are sums of cells that grids decode without a list of them."""
    return form_of(workload) is not None
