"""Campaigns with simulated devices that hold known values, so that estimates can be compared with the truth."""
