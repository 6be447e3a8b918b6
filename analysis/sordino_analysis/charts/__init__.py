"""Charts as SVG text: nothing to install, nothing to load, readable in any browser."""

from sordino_analysis.charts.answers import AnswerChart, draw_answers

__all__ = ["AnswerChart", "draw_answers"]
