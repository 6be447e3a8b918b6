"""Every page and form of the console."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from sordino_server.console import (
    action_pages,
    activity_pages,
    answer_pages,
    campaign_pages,
    card_pages,
    comparison_pages,
    estimate_pages,
    experiment_pages,
    key_pages,
    live_counts,
    log_pages,
    new_campaign_pages,
    new_question_pages,
    person_sign_in,
    picture_endpoints,
    plan_pages,
    population_pages,
    question_pages,
    series_pages,
    share_pages,
    sign_in,
    static_files,
    status_pages,
    string_pages,
    wizard_pages,
)
from sordino_server.kit.known_parameters import check_parameters

router = APIRouter(include_in_schema=False)
PARTS = (
    static_files,
    status_pages,
    sign_in,
    person_sign_in,
    question_pages,
    campaign_pages,
    card_pages,
    live_counts,
    action_pages,
    activity_pages,
    estimate_pages,
    share_pages,
    answer_pages,
    string_pages,
    comparison_pages,
    experiment_pages,
    picture_endpoints,
    series_pages,
    wizard_pages,
    new_question_pages,
    new_campaign_pages,
    plan_pages,
    population_pages,
    log_pages,
    key_pages,
)
for part in PARTS:
    router.include_router(part.router, dependencies=[Depends(check_parameters)])
# A provider sends its own parameters there.
router.include_router(person_sign_in.callback)
