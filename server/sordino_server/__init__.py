"""The sordino aggregator."""

__version__ = "0.1.0"
