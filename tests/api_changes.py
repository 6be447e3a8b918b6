"""Which changes of the REST API break somebody: two OpenAPI documents compared, in the direction that data goes.

    python -m tests.api_changes            # what changed since the released API, and what the CHANGELOG does not say
    python -m tests.api_changes --release  # this API is released: later changes are compared with it

A request breaks where it is taken no longer, an answer where its reader meets what was not there before.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.published_api import published_api

ROOT = Path(__file__).parents[1]
RELEASED = ROOT / "tests" / "server" / "serving" / "released_openapi.json"
CHANGELOG = ROOT / "CHANGELOG.md"
# The section of the unreleased version that announces changes; each line is `- breaking: …` or `- added: …`.
SECTION = "### REST API"
# What nobody's program reads.
_WORDS = frozenset({"description", "summary", "title", "example", "examples", "operationId", "tags"})
# A bound that is moved this way takes less.
_TIGHTER = {
    "maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1,
    "minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1,
}  # fmt: skip
_DEPTH = 12

Schema = dict[str, Any]


@dataclass(frozen=True, order=True)
class Change:
    """What changed in an operation such as `GET /v1/keys`; `what` names the place in it."""

    operation: str
    what: str
    breaking: bool

    def __str__(self) -> str:
        return f"{'breaking' if self.breaking else 'added'}: {self.operation}: {self.what}"


def without_words(value: Any, *, names: bool = False) -> Any:
    """The document without texts; `names`: the keys are names of fields, such as `title`, and all stay."""
    if isinstance(value, list):
        return [without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if names or key not in _WORDS}
    return {key: without_words(item, names=key in ("properties", "schemas", "paths")) for key, item in kept.items()}


def changes(before: Schema, after: Schema) -> list[Change]:
    """All changes from one document to the other, sorted."""
    old, new = dict(_operations(before)), dict(_operations(after))
    found = [Change(name, "the operation is gone", True) for name in old.keys() - new.keys()]
    found += [Change(name, "a new operation", False) for name in new.keys() - old.keys()]
    for name in old.keys() & new.keys():
        found += [Change(name, *each) for each in _of_operation(_Pair(before, after), old[name], new[name])]
    return sorted(set(found))


def unannounced(found: list[Change], changelog: str) -> list[Change]:
    """Changes whose operation the unreleased section does not name, breaking ones in a line that says so."""
    unreleased = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    section = unreleased.partition(f"{SECTION}\n")[2].partition("\n### ")[0]
    lines = [" ".join(line.split()) for line in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]
    broken = {name for line in lines if line.startswith("breaking: ") for name in re.findall(r"`(\w+ /[^`]*)`", line)}
    added = {name for line in lines if line.startswith("added: ") for name in re.findall(r"`(\w+ /[^`]*)`", line)}
    return [each for each in found if each.operation not in (broken if each.breaking else broken | added)]


@dataclass(frozen=True)
class _Pair:
    """Both documents, to follow references."""

    before: Schema
    after: Schema

    def old(self, schema: Schema) -> Schema:
        return _followed(self.before, schema)

    def new(self, schema: Schema) -> Schema:
        return _followed(self.after, schema)


def _followed(document: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _operations(document: Schema) -> Iterator[tuple[str, Schema]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _of_operation(pair: _Pair, old: Schema, new: Schema) -> Iterator[tuple[str, bool]]:
    yield from _of_parameters(pair, old.get("parameters", []), new.get("parameters", []))
    yield from _of_bodies(pair, old.get("requestBody"), new.get("requestBody"))
    if bool(old.get("security")) != bool(new.get("security")):
        yield "who may ask", bool(new.get("security"))
    if new.get("deprecated") and not old.get("deprecated"):
        yield "deprecated", False
    before, after = old["responses"], new["responses"]
    yield from ((f"answer {status} is gone", True) for status in before.keys() - after.keys())
    yield from ((f"answer {status} is new", status.startswith("2")) for status in after.keys() - before.keys())
    for status in before.keys() & after.keys():
        yield from _of_content(pair, before[status], after[status], f"answer {status}", answer=True)


def _of_parameters(pair: _Pair, old: list[Schema], new: list[Schema]) -> Iterator[tuple[str, bool]]:
    before, after = ({(each["in"], each["name"]): each for each in listed} for listed in (old, new))
    # Unknown parameters are refused.
    yield from ((f"parameter {name} is gone", True) for _, name in before.keys() - after.keys())
    for key in after.keys() - before.keys():
        yield f"parameter {key[1]} is new", bool(after[key].get("required"))
    for key in before.keys() & after.keys():
        if bool(before[key].get("required")) != bool(after[key].get("required")):
            yield f"parameter {key[1]}: required", bool(after[key].get("required"))
        yield from _of_schemas(
            pair, before[key].get("schema", {}), after[key].get("schema", {}), f"parameter {key[1]}", answer=False
        )


def _of_bodies(pair: _Pair, old: Schema | None, new: Schema | None) -> Iterator[tuple[str, bool]]:
    if (old is None) != (new is None):
        yield "the body", bool(new is None or new.get("required"))
    elif old is not None and new is not None:
        yield from _of_content(pair, old, new, "body", answer=False)


def _of_content(pair: _Pair, old: Schema, new: Schema, where: str, *, answer: bool) -> Iterator[tuple[str, bool]]:
    before, after = old.get("content", {}), new.get("content", {})
    yield from ((f"{where}: {kind} is gone", True) for kind in before.keys() - after.keys())
    yield from ((f"{where}: {kind} is new", False) for kind in after.keys() - before.keys())
    for kind in before.keys() & after.keys():
        schemas = before[kind].get("schema", {}), after[kind].get("schema", {})
        yield from _of_schemas(pair, *schemas, where, answer=answer)


def _of_schemas(
    pair: _Pair, old: Schema, new: Schema, where: str, *, answer: bool, depth: int = 0
) -> Iterator[tuple[str, bool]]:
    old, new = pair.old(old), pair.new(new)
    if depth > _DEPTH or (old == new and pair.before == pair.after):
        return
    before, after = _variants(pair.old, old), _variants(pair.new, new)
    yield from ((f"{where}: {kind} is gone", not answer) for kind in sorted(before.keys() - after.keys()))
    yield from ((f"{where}: {kind} is new", answer) for kind in sorted(after.keys() - before.keys()))
    for kind in before.keys() & after.keys():
        yield from _of_variant(pair, before[kind], after[kind], where, answer=answer, depth=depth)


def _variants(follow: Any, schema: Schema) -> dict[str, Schema]:
    """What a value may be, each by a name that tells it from the others: its type, constant or title-less place."""
    listed = schema.get("anyOf") or schema.get("oneOf") or [schema]
    named: dict[str, Schema] = {}
    for number, each in enumerate(map(follow, listed)):
        kind = each.get("type", "anything")
        values = each.get("enum", [each["const"]] if "const" in each else None)
        if values is not None:
            named |= {f"value {value!r}": {} for value in values}
            continue
        tags = [str(field["const"]) for field in map(follow, each.get("properties", {}).values()) if "const" in field]
        name = " ".join([str(kind), *tags])
        named[name if name not in named else f"{name} {number}"] = each
    return named


def _of_variant(
    pair: _Pair, old: Schema, new: Schema, where: str, *, answer: bool, depth: int
) -> Iterator[tuple[str, bool]]:
    before, after = old.get("properties", {}), new.get("properties", {})
    required, requires = set(old.get("required", ())), set(new.get("required", ()))
    # Unknown fields of requests are refused, and those of answers are skipped by their readers.
    yield from ((f"{where}.{name} is gone", True) for name in before.keys() - after.keys())
    yield from ((f"{where}.{name} is new", not answer and name in requires) for name in after.keys() - before.keys())
    for name in before.keys() & after.keys():
        place = f"{where}.{name}"
        if (name in required) != (name in requires):
            yield f"{place}: required", (name in requires) != answer
        yield from _of_schemas(pair, before[name], after[name], place, answer=answer, depth=depth + 1)
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield from _of_schemas(pair, old[key], new[key], f"{where}[]", answer=answer, depth=depth + 1)
        elif old.get(key) != new.get(key):
            yield f"{where}: {key}", True
    yield from _of_bounds(old, new, where, answer=answer)


def _of_bounds(old: Schema, new: Schema, where: str, *, answer: bool) -> Iterator[tuple[str, bool]]:
    for key, direction in _TIGHTER.items():
        if old.get(key) == new.get(key):
            continue
        loosest = -direction * float("inf")
        tighter = (new.get(key, loosest) - old.get(key, loosest)) * direction > 0
        yield f"{where}: {key}", tighter != answer
    for key in ("pattern", "format"):
        if old.get(key) != new.get(key):
            yield f"{where}: {key}", answer or new.get(key) is not None


def main(arguments: list[str]) -> int:
    after = without_words(published_api())
    if arguments == ["--release"]:
        RELEASED.write_text(json.dumps(after, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"wrote {RELEASED.relative_to(ROOT)}: empty the section {SECTION!r} of the next version")
        return 0
    found = changes(json.loads(RELEASED.read_text(encoding="utf-8")), after)
    missing = unannounced(found, CHANGELOG.read_text(encoding="utf-8"))
    for each in found:
        print(f"{each}{'   NOT ANNOUNCED' if each in missing else ''}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
