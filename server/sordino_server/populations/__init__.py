"""Populations: how much ε may be asked of the same devices, over all campaigns, and what was asked so far."""
