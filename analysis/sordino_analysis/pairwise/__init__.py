"""Protocols: how the rounds of a campaign become one estimate, as passive strategies without HTTP or database."""
