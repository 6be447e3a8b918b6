"""Releases: the same artefacts from the same source, each with its licence, what it needs, and its hash."""
