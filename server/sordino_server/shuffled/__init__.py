"""Campaigns behind a shuffler: their keys and tasks, batches as they come, and the opening of sealed reports."""
