"""The HTTP API, from docs/openapi.json: a page for each tag, and one for the schemas. No script reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from docs.site.contents import DOCS
from docs.site.reference.markdown import ORPHAN, index, plain, table

_LEAD = """Operations by what they are about. [openapi.json](../../openapi.json) has the same for programs. Errors are
[problem documents](../problems.md); [protocol](../../protocol.md) has what devices send."""
_PROBLEM = "ProblemDocument"


def pages() -> dict[str, str]:
    """A page for each tag, one for all schemas, and one that lists them."""
    api = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    by_tag: dict[str, list[list[str]]] = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            lines = _operation(method.upper(), path, operation)
            by_tag.setdefault(operation["tags"][0], []).append(lines)
    made = {}
    for tag, operations in sorted(by_tag.items()):
        lines = [f"# {_title(tag)}", "", *(line for each in operations for line in each)]
        made[f"http/{tag}.md"] = ORPHAN + "\n".join(lines)
    made["http/schemas.md"] = ORPHAN + "\n".join(_schemas(api["components"]["schemas"]))
    listed = [(tag, _title(tag), f"{len(each)} operations") for tag, each in sorted(by_tag.items())]
    listed.append(("schemas", "Schemas", "fields of what is sent and returned"))
    return made | {"http/index.md": index("HTTP API", _LEAD, listed)}


def _title(tag: str) -> str:
    return tag.replace("-", " ").capitalize()


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"## {method} {plain(path)}", "", plain(operation.get("description") or operation["summary"]), ""]
    if not operation.get("security"):
        lines += ["Needs no key.", ""]
    if parameters := operation.get("parameters"):
        rows = [(f"`{each['name']}`", each["in"], _type(each["schema"]), _meaning(each)) for each in parameters]
        lines += table(("parameter", "in", "type", "meaning"), rows)
    if body := operation.get("requestBody"):
        lines += [f"Body: {_content(body['content'])}.", ""]
    for status, response in operation["responses"].items():
        if status not in ("4XX", "5XX"):
            lines += [f"{status}: {_content(response.get('content', {})) or 'no body'}.", ""]
    return lines


def _content(content: dict[str, Any]) -> str:
    """Media types, each with its schema."""
    found = [(media, _type(each["schema"]) if each.get("schema") else "") for media, each in content.items()]
    return ", ".join(f"`{media}` {schema}".rstrip() for media, schema in found)


def _meaning(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", parameter)
    notes = [plain(parameter.get("description", ""))]
    notes += ["Required."] if parameter.get("required") is True else []
    notes += [f"Default: `{json.dumps(schema['default'])}`."] if schema.get("default") is not None else []
    return " ".join(filter(None, notes))


def _type(schema: dict[str, Any]) -> str:
    """The type of a value in a word or two, with a link where it is a schema of its own."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](schemas.md#{name.lower()})"
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[choice]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return f"{schema.get('type', 'any')}{_limits(schema)}"


def _limits(schema: dict[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None or most is not None:
        return f" ({'' if least is None else f'{least:,}'} … {'' if most is None else f'{most:,}'})"
    longest = schema.get("maxLength")
    return f" (at most {longest:,} characters)" if longest is not None else ""


def _schemas(schemas: dict[str, Any]) -> list[str]:
    lines = ["# Schemas", "", "Fields of bodies of requests and responses.", ""]
    for name, schema in sorted(schemas.items()):
        lines += [f"## {name}", "", *_schema(schema)]
    return lines


def _schema(schema: dict[str, Any]) -> Iterable[str]:
    described = [plain(" ".join(schema.get("description", "").split())), ""] if schema.get("description") else []
    if "properties" not in schema:
        return [*described, _type(schema), ""]
    needed = schema.get("required", ())
    fields = schema["properties"].items()
    rows = [(f"`{name}`", _type(each), _meaning(each | {"required": name in needed})) for name, each in fields]
    return [*described, *table(("field", "type", "meaning"), rows)]
