"""Kinds of questions: one class each, from its written form and its plan to its estimate, chart and simulation."""
