"""Sums that others added up: who may send them, which of them count, and whose a round waits for."""
