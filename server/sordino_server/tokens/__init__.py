"""Tokens of reports: issued through the campaign's gate, each redeemed with one report of its round."""
