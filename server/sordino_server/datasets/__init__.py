"""Datasets: rows that this server holds as sealed counts, and the ρ or ε that releases from them may spend."""
