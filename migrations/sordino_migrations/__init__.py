"""Alembic steps from one schema of a sordino database to the next."""

__version__ = "0.1.0"
