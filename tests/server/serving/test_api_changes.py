"""No change of the REST API goes unannounced, and changes that break somebody are called so."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api_changes import CHANGELOG, RELEASED, changes, unannounced, without_words
from tests.published_api import published_api

Schema = dict[str, Any]
ADVICE = """the REST API changed: name each operation in CHANGELOG.md, in the section `### REST API` of the unreleased
version, as `- breaking: `GET /v1/keys`: …` or `- added: …`:
"""


def test_every_change_since_the_release_is_in_the_changelog() -> None:
    found = changes(json.loads(RELEASED.read_text(encoding="utf-8")), without_words(published_api()))
    missing = unannounced(found, CHANGELOG.read_text(encoding="utf-8"))
    assert not missing, ADVICE + "\n".join(map(str, missing))


def small() -> Schema:
    """An API of one operation."""
    asked = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "role": {"enum": ["admin", "analyst"], "type": "string"},
            "end": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        },
    }
    shown = copy.deepcopy(asked) | {"required": ["name", "role", "end"]}
    schemas = {"Asked": asked, "Shown": shown}
    content = {name: {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}} for name in schemas}
    size = {"in": "query", "name": "size", "required": False, "schema": {"type": "integer", "maximum": 100}}
    operation = {
        "parameters": [size],
        "requestBody": {"required": True, "content": content["Asked"]},
        "responses": {"200": {"content": content["Shown"]}},
    }
    return {"paths": {"/v1/keys": {"post": operation}}, "components": {"schemas": schemas}}


def operation(document: Schema) -> Schema:
    found: Schema = document["paths"]["/v1/keys"]["post"]
    return found


def fields(document: Schema, name: str) -> Schema:
    found: Schema = document["components"]["schemas"][name]["properties"]
    return found


Act = Callable[[Schema], object]
CASES: list[tuple[str, bool, Act]] = [
    ("the operation is gone", True, lambda d: d["paths"].clear()),
    ("parameter size is gone", True, lambda d: operation(d)["parameters"].clear()),
    ("parameter page is new", False, lambda d: operation(d)["parameters"].append({"in": "query", "name": "page"})),
    (
        "parameter page is new",
        True,
        lambda d: operation(d)["parameters"].append({"in": "query", "name": "page", "required": True}),
    ),
    ("parameter size: maximum", True, lambda d: operation(d)["parameters"][0]["schema"].update(maximum=50)),
    ("parameter size: maximum", False, lambda d: operation(d)["parameters"][0]["schema"].pop("maximum")),
    ("body.role is gone", True, lambda d: fields(d, "Asked").pop("role")),
    ("body.age is new", False, lambda d: fields(d, "Asked").update(age={"type": "integer"})),
    (
        "body.age is new",
        True,
        lambda d: (
            fields(d, "Asked").update(age={"type": "integer"}),
            d["components"]["schemas"]["Asked"]["required"].append("age"),
        ),
    ),
    ("body.role: required", True, lambda d: d["components"]["schemas"]["Asked"]["required"].append("role")),
    ("body.name: required", False, lambda d: d["components"]["schemas"]["Asked"]["required"].clear()),
    ("body.role: value 'admin' is gone", True, lambda d: fields(d, "Asked")["role"]["enum"].remove("admin")),
    ("body.role: value 'owner' is new", False, lambda d: fields(d, "Asked")["role"]["enum"].append("owner")),
    ("body.name: maxLength", True, lambda d: fields(d, "Asked")["name"].update(maxLength=8)),
    ("body.name: maxLength", False, lambda d: fields(d, "Asked")["name"].update(maxLength=10)),
    ("body.name: pattern", True, lambda d: fields(d, "Asked")["name"].update(pattern="^a")),
    ("body.end: null is gone", True, lambda d: fields(d, "Asked")["end"]["anyOf"].pop()),
    ("answer 200.role is gone", True, lambda d: fields(d, "Shown").pop("role")),
    ("answer 200.age is new", False, lambda d: fields(d, "Shown").update(age={"type": "integer"})),
    ("answer 200.end: required", True, lambda d: d["components"]["schemas"]["Shown"]["required"].remove("end")),
    ("answer 200.role: value 'owner' is new", True, lambda d: fields(d, "Shown")["role"]["enum"].append("owner")),
    ("answer 200.role: value 'admin' is gone", False, lambda d: fields(d, "Shown")["role"]["enum"].remove("admin")),
    ("answer 200.end: number is new", True, lambda d: fields(d, "Shown")["end"]["anyOf"].append({"type": "number"})),
    ("answer 200.end: null is gone", False, lambda d: fields(d, "Shown")["end"]["anyOf"].pop()),
    ("answer 200.name: maxLength", True, lambda d: fields(d, "Shown")["name"].pop("maxLength")),
    ("answer 200.name: maxLength", False, lambda d: fields(d, "Shown")["name"].update(maxLength=8)),
    ("answer 200: application/json is gone", True, lambda d: operation(d)["responses"]["200"]["content"].clear()),
    ("answer 200 is gone", True, lambda d: operation(d)["responses"].clear()),
    ("answer 202 is new", True, lambda d: operation(d)["responses"].update({"202": {}})),
    ("the body", True, lambda d: operation(d).pop("requestBody")),
    ("who may ask", True, lambda d: operation(d).update(security=[{"bearer": []}])),
    ("deprecated", False, lambda d: operation(d).update(deprecated=True)),
]


@pytest.mark.parametrize(("what", "breaking", "act"), CASES, ids=[f"{what}, {b}" for what, b, _ in CASES])
def test_a_change_is_seen_and_classified(what: str, breaking: bool, act: Act) -> None:
    after = small()
    act(after)
    found = changes(small(), after)
    assert (what, breaking) in {(each.what, each.breaking) for each in found}, found
    assert {each.operation for each in found} == {"POST /v1/keys"}


def test_texts_are_no_change_and_names_of_fields_are_no_texts() -> None:
    before, after = small(), small()
    operation(after).update(description="Other words.", operationId="other")
    fields(after, "Shown")["name"]["title"] = "Name"
    assert changes(without_words(before), without_words(after)) == []
    fields(after, "Shown")["title"] = {"type": "string"}
    assert [each.what for each in changes(without_words(before), without_words(after))] == ["answer 200.title is new"]


def test_a_field_that_the_real_api_loses_breaks_every_operation_that_shows_it() -> None:
    before, after = without_words(published_api()), without_words(published_api())
    del after["components"]["schemas"]["KeyDocument"]["properties"]["expires_at"]
    broken = {each.operation for each in changes(before, after) if each.breaking}
    assert broken == {"GET /v1/keys", "DELETE /v1/keys/{key_id}"}


def test_an_announcement_names_the_operation_and_says_what_it_is() -> None:
    after = small()
    fields(after, "Shown").pop("role")
    found = changes(small(), after)
    head = "# Changelog\n\n## 0.2.0 (unreleased)\n\n### REST API\n\n"
    assert unannounced(found, f"{head}- breaking: `GET /v1/keys`,\n  `POST /v1/keys`: `role` is gone\n") == []
    for text in (
        f"{head}- added: `POST /v1/keys`: `role`\n",
        f"{head}- breaking: `POST /v1/key`\n",
        "# Changelog\n\n## 0.2.0 (unreleased)\n\n- breaking: `POST /v1/keys`\n",
        f"{head}\n### Other\n\n- breaking: `POST /v1/keys`\n",
        "# Changelog\n\n## 0.2.0 (unreleased)\n\n## 0.1.0\n\n### REST API\n\n- breaking: `POST /v1/keys`\n",
    ):
        assert unannounced(found, text) == found
