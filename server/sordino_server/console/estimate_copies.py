"""How to get an estimate without the console: commands and code to copy. Keys stay in the environment."""

from __future__ import annotations


def copies(address: str, campaign: str) -> list[tuple[str, str]]:
    """Names and texts; `address` is the server's, with a slash at the end."""
    curl = (
        f"curl '{address}v1/campaigns/{campaign}/estimates?format=csv' \\\n  -H \"Authorization: Bearer $SORDINO_KEY\""
    )
    python = f"""import os

import sordino_analysis as sa

frame = sa.read_estimates(
    "{address}v1/estimates?campaign={campaign}",
    key=os.environ["SORDINO_KEY"],
)"""
    command = f"sordino export estimates {campaign} \\\n  --server {address.rstrip('/')} --output estimates.csv"
    return [("As curl", curl), ("As Python", python), ("As a command", command)]
