"""Every page and form of the console."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from sordino_server.console import (
    campaign_pages,
    estimate_pages,
    key_pages,
    plan_pages,
    population_pages,
    sign_in,
    static_files,
)
from sordino_server.kit.known_parameters import check_parameters

router = APIRouter(include_in_schema=False, dependencies=[Depends(check_parameters)])
for part in (static_files, sign_in, campaign_pages, estimate_pages, plan_pages, population_pages, key_pages):
    router.include_router(part.router)
