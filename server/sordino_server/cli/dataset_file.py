"""What `sordino datasets add` sends: the terms of a YAML file, and the rows of a CSV file column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sordino_shared.errors import InvalidValue


def read_dataset(csv: Path, spec: Path, columns: Sequence[str]) -> dict[str, Any]:
    """The order of the API; `columns` are ATTRIBUTE=COLUMN for attributes whose column has another name.

    Raises InvalidValue for terms that do not fit, and ColumnError, with the line, for rows that do not.
    """
    # Other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.analyst.tables import device_values, read_table
    from sordino_analysis.questions.linear.attributes import readable
    from sordino_analysis.questions.linear.files import read_document
    from sordino_server.datasets.schemas import DatasetTerms

    document = read_document(spec)
    try:
        terms = DatasetTerms.model_validate(document)
    except ValidationError as error:
        raise InvalidValue(f"{spec}: {readable(error).replace('the workload', 'the dataset')}", str(spec)) from error
    domain = terms.built()
    terms.cap.nano()
    places = _columns_of([attribute.name for attribute in domain.attributes], columns)
    table = read_table(csv, list(places.values()))
    rows = device_values(table, domain, places)
    held = {name: [row[name] for row in rows] for name in places}
    return terms.model_dump(mode="json", exclude_none=True) | {"columns": held}


def _columns_of(names: Sequence[str], columns: Sequence[str]) -> Mapping[str, str]:
    places = {name: name for name in names}
    for text in columns:
        name, sign, column = text.partition("=")
        if not sign or name not in places:
            raise InvalidValue(f"--column is ATTRIBUTE=COLUMN with one of {', '.join(names)}, got {text!r}", text)
        places[name] = column
    return places
