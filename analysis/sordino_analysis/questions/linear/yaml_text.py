"""YAML as plain values, from files that anybody may have written: bounded in depth and size before a value is made."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import yaml

from sordino_analysis.questions.linear.workload import WorkloadError

# libyaml, where PyYAML was built with it, reads twenty times as fast.
_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A workload is at most six levels deep. PyYAML builds values by recursion.
_DEEPEST = 32
# Every member of the largest domain (2^19), and room for the rest.
_MOST_VALUES = (1 << 19) + (1 << 16)
_DATE = "tag:yaml.org,2002:timestamp"


class _Loader(_Fast):  # type: ignore[misc]
    """Reads every number of JSON as one, where PyYAML takes 1e-5 for a text, and refuses a key that comes twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known: set[str] = set()
        for key, _ in node.value:
            if (name := str(key.value)) in known:
                raise WorkloadError(f"{name!r} is there twice: keep one{_place(key.start_mark)}")
            known.add(name)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _refuse_date(loader: Any, node: yaml.ScalarNode) -> None:
    raise WorkloadError(f"{node.value!r} is a date to YAML: put quotes around it{_place(node.start_mark)}")


_Loader.add_constructor(_DATE, _refuse_date)


def parse_yaml(text: str) -> Any:
    """The value that the YAML describes: mappings, lists, texts, numbers, true, false and null.

    Anchors, aliases and tags are refused: a few lines of them may stand for more than any memory holds, and no workload
    needs one. Raises WorkloadError, whose message is one line, for whatever is no YAML, too deep or too much.
    """
    try:
        _check(text)
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise WorkloadError(f"it is no YAML: {error.problem or error.context}{_place(mark)}") from error
    except yaml.YAMLError as error:
        raise WorkloadError(f"it is no YAML: {' '.join(str(error).split())}") from error
    except WorkloadError:
        raise
    except ValueError as error:
        # What looks like a number and is none, such as 0b_, or has more digits than Python reads.
        raise WorkloadError(f"a number cannot be read: {error}") from error


def _check(text: str) -> None:
    """Raise WorkloadError for what is too deep or too much to build, or needs more than values."""
    depth = values = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            _refuse("anchors and aliases are not read: write the value out", event)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            if event.anchor is not None:
                _refuse("anchors and aliases are not read: write the value out", event)
            if event.tag is not None:
                _refuse(f"the tag {event.tag} is not read: leave it out", event)
        if depth > _DEEPEST:
            _refuse(f"it is nested more than {_DEEPEST} deep", event)
        if values > _MOST_VALUES:
            raise WorkloadError(
                f"it has more than {_MOST_VALUES} values: use fewer, or put a matrix into a .csv or .npy file, and "
                "use `hashed` for a long list of labels or {start, step, count} for one of edges"
            )


def _refuse(reason: str, event: yaml.Event) -> NoReturn:
    raise WorkloadError(reason + _place(event.start_mark))


def _place(mark: Any) -> str:
    return "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
