"""Charts as SVG text: nothing to install, nothing to load, readable in any browser."""

from sordino_analysis.charts.answers import AnswerChart, draw_answers
from sordino_analysis.charts.estimates import EstimateChart, draw_estimate

__all__ = ["AnswerChart", "EstimateChart", "draw_answers", "draw_estimate"]
