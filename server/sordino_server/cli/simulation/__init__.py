"""Campaigns with simulated devices that hold known values, so that estimates can be put beside the truth."""
