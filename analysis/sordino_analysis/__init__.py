"""The analyst's mathematics of sordino: questions, mechanisms, exact variances, certified bounds, estimates."""

__version__ = "0.1.0"
