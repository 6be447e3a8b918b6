"""Workload files: YAML or JSON, with a matrix in CSV or NPY beside it."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sordino_server.design.workloads.specification import WorkloadSpecification, parse_specification
from sordino_server.design.workloads.workload import WorkloadError


class _Yaml(yaml.SafeLoader):
    """YAML that reads every number of JSON as one; by itself PyYAML takes 1e-5 for a text."""


_Yaml.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_specification(path: Path | str) -> WorkloadSpecification:
    """The linear queries of a YAML or JSON file; raises WorkloadError where it does not describe any."""
    return parse_specification(read_document(path))


def read_document(path: Path | str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file; `queries: {file: NAME}` is read from beside it and put in place.

    So is `file` of a statistic. Raises WorkloadError for a file that cannot be read or is no mapping.
    """
    path = Path(path)
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), _Yaml)
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"cannot read the workload {path}: {error}", path) from error
    except yaml.YAMLError as error:
        raise WorkloadError(f"{path} is no YAML: {error}", path) from error
    if not isinstance(document, dict):
        raise WorkloadError(f"{path} must hold a mapping with name, domain and queries, or a statistic", document)
    for asked in ("queries", "statistic"):
        written = document.get(asked)
        if isinstance(written, dict) and isinstance(written.get("file"), str) and "matrix" not in written:
            labels, matrix = _read_matrix(path.parent / written["file"])
            # The rows of a statistic are the cells of its domain, which have names already.
            named = {"labels": labels} if labels and asked == "queries" else {}
            document[asked] = {"matrix": matrix, **named} | {k: v for k, v in written.items() if k != "file"}
    return document


def _read_matrix(path: Path) -> tuple[list[str], list[list[float]]]:
    if path.suffix.lower() == ".npy":
        return [], _read_npy(path)
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    raise WorkloadError(f"a matrix file ends in .csv or .npy, not {path.name!r}", path)


def _read_npy(path: Path) -> list[list[float]]:
    try:
        matrix = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise WorkloadError(f"cannot read the matrix {path}: {error}", path) from error
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise WorkloadError(f"{path} must hold one table of real numbers, queries × cells", path)
    rows: list[list[float]] = matrix.astype(float).tolist()
    return rows


def _read_csv(path: Path) -> tuple[list[str], list[list[float]]]:
    """Labels and rows: a first line that is not numeric is a header, a first column that is not holds labels."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            table = [row for row in csv.reader(stream) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WorkloadError(f"cannot read the matrix {path}: {error}", path) from error
    if table and not any(_is_number(cell) for cell in table[0]):
        table = table[1:]
    if not table:
        raise WorkloadError(f"{path} holds no rows of numbers", path)
    named = all(not _is_number(row[0]) for row in table)
    labels = [row[0].strip() for row in table] if named else []
    return labels, [_numbers(row[1:] if named else row, path) for row in table]


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
