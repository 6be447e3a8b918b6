"""Arrangements of concept classes: unit vectors of types and of rules whose products have the signs of the rules."""
