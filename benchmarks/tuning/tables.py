"""The tables of constants by name, as `search.descent`, and values of them for a while."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from sordino_analysis.optimisation.search import schedule
from sordino_analysis.optimisation.search.tuning import NewRows

_PACKAGES = (
    "optimisation",
    "optimisation.search",
    "optimisation.bounds",
    "optimisation.factorization",
    "optimisation.gaussian",
    "optimisation.symmetry",
    "mechanisms",
    "pairwise",
    "curator",
    "planning",
)


@dataclass(frozen=True)
class Constant:
    """One field of a table; values of it are put into the table, which modules share."""

    table: str
    field: str
    owner: Any

    @property
    def name(self) -> str:
        return f"{self.table}.{self.field}"

    def is_in(self, name: str) -> bool:
        """Whether it is the constant of this name, or in the table or package of it; all are in ""."""
        return not name or f"{self.name}.".startswith(f"{name}.")

    @property
    def value(self) -> Any:
        return getattr(self.owner, self.field)

    @contextmanager
    def set_to(self, value: Any) -> Iterator[None]:
        """The value in place of its own until the context ends: tables are frozen for everybody else."""
        before = self.value
        object.__setattr__(self.owner, self.field, value)
        try:
            yield
        finally:
            object.__setattr__(self.owner, self.field, before)


def constants() -> list[Constant]:
    """Every field of every table."""
    tables: dict[str, Any] = {}
    for package in _PACKAGES:
        module = import_module(f"sordino_analysis.{package}.tuning")
        tables |= {f"{package.rpartition('.')[2]}.{name.lower()}": table for name, table in _tables_of(module)}
    tables |= {f"search.schedules.{effort.value}": plan for effort, plan in schedule.SCHEDULES.items()}
    tables["search.trial"] = schedule.TRIAL
    return [
        Constant(name, field.name, table)
        for name, table in tables.items()
        for field in dataclasses.fields(table)
        if not isinstance(getattr(table, field.name), NewRows) or not hasattr(getattr(table, field.name), "per_type")
    ]


def _tables_of(module: ModuleType) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(module).items() if name.isupper() and dataclasses.is_dataclass(value)]


def scaled(value: Any, factor: float) -> Any:
    """The value times the factor, each number of a table of them.

    Whole numbers stay whole, and change by one at least; a share above one half comes so much nearer to 1, or falls
    back from it; of numbers just above 1 the part above it is scaled.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: scaled(getattr(value, field.name), factor) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **parts)
    if isinstance(value, Mapping):
        return {key: scaled(inner, factor) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(scaled(inner, factor) for inner in value)
    if isinstance(value, int):
        moved = round(value * factor)
        return moved if moved != value else value + (1 if factor > 1 else 0)
    if 0.5 < value < 1:
        return 1 - (1 - value) / factor
    return 1 + (value - 1) * factor if 1 < value < 1.1 else value * factor


@contextmanager
def reads() -> Iterator[set[tuple[int, str]]]:
    """Collects (id of a table, field) of everything that is read until the context ends."""
    read: set[tuple[int, str]] = set()
    classes = {type(constant.owner) for constant in constants()}

    def recording(owner: Any, name: str) -> Any:
        read.add((id(owner), name))
        return object.__getattribute__(owner, name)

    for kind in classes:
        kind.__getattribute__ = recording
    try:
        yield read
    finally:
        for kind in classes:
            del kind.__getattribute__
