"""Charts as SVG text: nothing to install, nothing to load, readable in any browser, on light and dark ground."""

from sordino_analysis.charts.answers import AnswerChart, draw_answers
from sordino_analysis.charts.differences import DifferenceChart, DifferenceRow, draw_differences
from sordino_analysis.charts.estimate_shapes import EstimateChart
from sordino_analysis.charts.estimates import draw_estimate
from sordino_analysis.charts.heat_maps import HeatMap, draw_heat_maps
from sordino_analysis.charts.kernels import draw_kernel, is_drawable
from sordino_analysis.charts.ranked_intervals import RankedChart, RankedRow, draw_ranked
from sordino_analysis.charts.series import SeriesChart, SeriesPoint, draw_series
from sordino_analysis.charts.steps import StepChart, StepCurve, draw_steps
from sordino_analysis.charts.variances import PlanVariances, VarianceChart, draw_variances

__all__ = [
    "AnswerChart",
    "DifferenceChart",
    "DifferenceRow",
    "EstimateChart",
    "HeatMap",
    "PlanVariances",
    "RankedChart",
    "RankedRow",
    "SeriesChart",
    "SeriesPoint",
    "StepChart",
    "StepCurve",
    "VarianceChart",
    "draw_answers",
    "draw_differences",
    "draw_estimate",
    "draw_heat_maps",
    "draw_kernel",
    "draw_ranked",
    "draw_series",
    "draw_steps",
    "draw_variances",
    "is_drawable",
]
