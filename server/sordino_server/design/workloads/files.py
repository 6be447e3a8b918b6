"""Workload files: YAML or JSON, with a matrix in CSV or NPY beside it."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sordino_server.design.workloads.specification import WorkloadSpecification, parse_specification
from sordino_server.design.workloads.workload import WorkloadError


def load_specification(path: Path | str) -> WorkloadSpecification:
    """Read a YAML or JSON file; `queries: {file: NAME}` is read from beside it and put in place.

    Raises WorkloadError for a file that cannot be read, is not YAML, or does not describe a workload.
    """
    path = Path(path)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"cannot read the workload {path}: {error}", path) from error
    except yaml.YAMLError as error:
        raise WorkloadError(f"{path} is no YAML: {error}", path) from error
    if not isinstance(document, dict):
        raise WorkloadError(f"{path} must hold a mapping with name, domain and queries", document)
    queries = document.get("queries")
    if isinstance(queries, dict) and isinstance(queries.get("file"), str) and "matrix" not in queries:
        document["queries"] = _inlined(queries, path.parent)
    return parse_specification(document)


def _inlined(queries: dict[str, Any], folder: Path) -> dict[str, Any]:
    rest = {key: value for key, value in queries.items() if key != "file"}
    path = folder / queries["file"]
    if path.suffix.lower() == ".npy":
        return {"matrix": _read_npy(path), **rest}
    if path.suffix.lower() == ".csv":
        labels, matrix = _read_csv(path)
        return {"matrix": matrix, **({"labels": labels} if labels else {}), **rest}
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
