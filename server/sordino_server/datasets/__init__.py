"""Datasets: rows that this server holds as sealed counts, and the ρ that releases from them may spend."""
