"""Workload files: YAML or JSON, with an optional matrix in CSV or NPY in the same folder."""

import csv
import json
import tokenize
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sordino_analysis.questions.linear.operators import DENSE_LIMIT
from sordino_analysis.questions.linear.specification import WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared._text import is_legible

# As large as the body of a request may be; what is more is a matrix, which belongs into a file of its own.
_LARGEST_BYTES = 16 << 20


def load_specification(path: Path | str) -> WorkloadSpecification:
    """The linear queries of a YAML or JSON file; raises WorkloadError where it does not describe any."""
    return parse_specification(read_document(path))


def read_document(path: Path | str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file; `queries: {file: NAME}` is read from the same folder and put in place.

    So is `file` of a statistic, and of the code of a text. Raises WorkloadError for a file that cannot be read or is no
    mapping.
    """
    path = Path(path)
    try:
        document = _parsed(_read_text(path))
    except (OSError, UnicodeDecodeError, WorkloadError) as error:
        raise WorkloadError(f"cannot read the workload {path}: {_reason(error)}", path) from error
    if not isinstance(document, dict):
        raise WorkloadError(f"{path} must hold a mapping with name, domain and queries, or a statistic", document)
    attributes = document.get("domain")
    for attribute in attributes if isinstance(attributes, list) else ():
        if isinstance(attribute, dict) and isinstance(attribute.get("code"), dict) and "file" in attribute["code"]:
            attribute["code"] = _read_code(path, attribute["code"]["file"])
    for asked in ("queries", "statistic"):
        written = document.get(asked)
        if isinstance(written, dict) and isinstance(written.get("file"), str) and "matrix" not in written:
            labels, matrix = _read_matrix(_beside(path, written["file"]))
            # The rows of a statistic are the cells of its domain, which have names already.
            named = {"labels": labels} if labels and asked == "queries" else {}
            document[asked] = {"matrix": matrix, **named} | {k: v for k, v in written.items() if k != "file"}
    return document


def _read_code(path: Path, name: object) -> Any:
    """The JSON of a text code; its fields are checked where the question is read."""
    if not isinstance(name, str):
        raise WorkloadError(f"the file of a text code is a name, not {name!r}", name)
    try:
        return json.loads(_read_text(_beside(path, name)))
    except (OSError, ValueError, RecursionError, WorkloadError) as error:
        raise WorkloadError(f"cannot read the text code {name}: {error}", name) from error


def _read_text(path: Path) -> str:
    with path.open("rb") as stream:
        content = stream.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise WorkloadError(
            f"it has more than {_LARGEST_BYTES >> 20} MiB: put a matrix into a .csv or .npy file in its folder", path
        )
    return content.decode("utf-8-sig")


def _parsed(text: str) -> Any:
    """JSON is YAML too, and read twenty times as fast by what reads only that."""
    if text.lstrip()[:1] in ("{", "["):
        # What is no JSON, or has a key twice, is read as YAML, whose errors name the place.
        with suppress(ValueError, RecursionError):
            return json.loads(text, object_pairs_hook=_distinct)
    # Imported here, since a server only reads JSON and starts without PyYAML.
    from sordino_analysis.questions.linear.yaml_text import parse_yaml

    return parse_yaml(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _beside(path: Path, name: str) -> Path:
    if "\0" in name or not is_legible(name):
        raise WorkloadError(f"{name!r} is no name of a file", name)
    return path.parent / name


def _read_matrix(path: Path) -> tuple[list[str], list[list[float]]]:
    if path.suffix.lower() == ".npy":
        return [], _read_npy(path)
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    raise WorkloadError(f"a matrix file ends in .csv or .npy, not {path.name!r}", path)


def _reason(error: Exception) -> str:
    """What went wrong, without the number of an error of the system and the path, which the message has."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _read_npy(path: Path) -> list[list[float]]:
    try:
        # Mapped, so that a header which promises more than the file holds takes no memory.
        matrix = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, TypeError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        # The header is Python's text for a mapping, and numpy passes on what reading that raises.
        raise WorkloadError(f"cannot read the matrix {path}: {_reason(error)}", path) from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise WorkloadError(f"{path} must hold one table of real numbers, queries × cells", path)
    _check_size(matrix.size, path)
    rows: list[list[float]] = matrix.astype(float).tolist()
    return rows


def _read_csv(path: Path) -> tuple[list[str], list[list[float]]]:
    """Labels and rows: a first line that is not numeric is a header, a first column that is not holds labels."""
    table, entries = [], 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            for row in csv.reader(stream):
                if any(cell.strip() for cell in row):
                    table.append(row)
                    # The first cell of a row may be its label.
                    entries += len(row) - 1
                    _check_size(entries, path)
    except (OSError, UnicodeError, csv.Error) as error:
        raise WorkloadError(f"cannot read the matrix {path}: {_reason(error)}", path) from error
    if table and not any(_is_number(cell) for cell in table[0]):
        table = table[1:]
    if not table:
        raise WorkloadError(f"{path} holds no rows of numbers", path)
    named = all(not _is_number(row[0]) for row in table)
    labels = [row[0].strip() for row in table] if named else []
    return labels, [_numbers(row[1:] if named else row, path) for row in table]


def _check_size(entries: int, path: Path) -> None:
    if entries > DENSE_LIMIT:
        raise WorkloadError(f"{path} has more than {DENSE_LIMIT} entries: use a built-in kind", path)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(cells: list[str], path: Path) -> list[float]:
    wrong = next((cell for cell in cells if not _is_number(cell)), None)
    if wrong is not None:
        raise WorkloadError(f"{path}: {wrong!r} is no number", wrong)
    return [float(cell) for cell in cells]
