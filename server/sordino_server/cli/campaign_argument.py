"""The argument that names a campaign."""

from __future__ import annotations

from typing import Annotated

import typer

CampaignArgument = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="Id, the first digits of an id (4 or more), or a name.")
]
