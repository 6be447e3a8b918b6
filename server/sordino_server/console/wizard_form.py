"""The form of a new question as a browser sends it: from a file or by hand, it has the same fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sordino_analysis.figures import SHARE, amount, chosen
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.console.question_form import document_of
from sordino_server.plans.previews import EPSILONS, ErrorPreview
from sordino_server.plans.schemas import PlanOrder
from sordino_server.validation_problem import invalid_request
from sordino_server.workloads.checking import CheckedWorkload, check_document
from sordino_shared.errors import InvalidValue

# The slider of devices has tenths of the decimal logarithm, 300 to a million.
LEAST, MOST, STEP, FIRST = 24.8, 60.0, 0.2, 47.0
FIRST_STOP = 2
MARGINS = (0.01, 0.02, 0.03, 0.05)
# The form has the id of a plan only once that is requested.
_NO_PLAN = "0" * 32
_MOST_BARS = 24


def check_question(form: Mapping[str, str]) -> CheckedWorkload:
    """The workload of the form; raises InvalidValue, ServerError or WorkloadError."""
    return check_document(document_of(form))


def yaml_of(form: Mapping[str, str]) -> str:
    """The question as YAML, with an attribute a line; raises InvalidValue where it is not whole."""
    document = document_of(form)
    lines = [f"name: {_written(document['name'])}", "domain:"]
    lines += [f"  - {_written(each)}" for each in document["domain"]]
    return "\n".join([*lines, f"queries: {_written(document['queries'])}", ""])


def _written(value: Any) -> str:
    """JSON, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)


def stop_of(form: Mapping[str, str]) -> int:
    """The place of the chosen ε among the five; raises InvalidValue."""
    text = form.get("stop", str(FIRST_STOP))
    if text not in map(str, range(len(EPSILONS))):
        raise InvalidValue(f"privacy is a stop from 0 to {len(EPSILONS) - 1}, of ε {', '.join(EPSILONS)}", text)
    return int(text)


def devices_of(form: Mapping[str, str]) -> int:
    """The devices wanted, with two digits as the slider shows them; raises InvalidValue."""
    try:
        place = float(form.get("place", FIRST))
    except ValueError:
        place = 0.0
    if not LEAST <= place <= MOST:
        raise InvalidValue(f"the slider of devices goes from {LEAST} to {MOST}", form.get("place"))
    return int(float(f"{10 ** (place / 10):.1e}"))


def plan_order(form: Mapping[str, str], workload: str) -> PlanOrder:
    """What the plan is asked for."""
    return PlanOrder.model_validate({"workload": workload, "epsilon": EPSILONS[stop_of(form)], "objective": "max"})


def campaign_order(form: Mapping[str, str], plan_request: str = _NO_PLAN) -> CampaignOrder:
    """The terms of the draft; raises ServerError with what does not fit."""
    given: dict[str, Any] = {name: form.get(name, "").strip() for name in ("name", "purpose", "population")}
    given |= {"plan_request": plan_request, "close_after_reports": devices_of(form)}
    try:
        return CampaignOrder.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error.errors(include_url=False, include_input=False)) from error


def half_text(half: float) -> str:
    """As the page says it: "± 2.8", or "nothing" where a share may be anything."""
    return "nothing" if half > 0.5 else "± " + amount(half, SHARE, half).removesuffix(" %")


def even_bars(form: Mapping[str, str], half: float) -> list[tuple[str, float, float, float]]:
    """Where no file says how values lie: each step with the same share, as (label, share, low, high) of 0 to 1."""
    attribute = document_of(form)["domain"][0]
    unit = f" {attribute['unit']}" if attribute.get("unit") else ""
    if attribute["kind"] == "categorical":
        labels = [str(each) for each in attribute["labels"]]
        shares = [1 / len(labels)] * len(labels)
    elif attribute["kind"] == "ordinal":
        below = form.get("queries") == "prefix"
        labels = [f"up to {chosen(each)}{unit}" for each in attribute["edges"]]
        count = len(labels)
        shares = [(place + 1) / (count + 1) if below else 1 / (count + 1) for place in range(count)]
    else:
        return []
    found = zip(labels, shares, strict=True)
    return [(label, share, max(0.0, share - half), min(1.0, share + half)) for label, share in found][:_MOST_BARS]


def needs(preview: ErrorPreview, stop: int) -> list[tuple[str, str]]:
    """Devices for ± 1, 2, 3 and 5 points, to two digits."""
    found = [(margin, preview.devices(stop, margin)) for margin in MARGINS]
    return [
        (f"± {chosen(100 * margin)}", "–" if each is None else f"{int(float(f'{each:.1e}')):,}")
        for margin, each in found
    ]
