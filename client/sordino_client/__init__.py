"""The sordino device SDK."""

__version__ = "0.1.0"
