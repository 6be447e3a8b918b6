"""Wider searches for strings: further paths of a campaign's levels, without shares and never certified."""
