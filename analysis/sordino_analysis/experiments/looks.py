"""When an experiment is looked at. Servers and commands import this: it needs no numbers."""

from __future__ import annotations

from enum import StrEnum


class Looks(StrEnum):
    """The rule of looks: every day of the plan, once at the end, or every day with no end planned.

    `always` holds for any number of reports, without a normal law, and takes more of them.
    """

    PLANNED = "planned"
    END = "end"
    ANY = "any"
    ALWAYS = "always"
