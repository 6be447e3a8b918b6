"""Arms: the versions of an app that an experiment compares. Each device draws its arm by itself when it joins."""

from __future__ import annotations

import re

from sordino_shared._checks import check_distinct, check_length, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

MAX_ARMS = 16
WHOLE_ARM_WEIGHT = 1 << 16
_MAX_NAME = 24
_NAME = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class Arm:
    """One version: a device draws it with probability weight/2^16, and keeps it."""

    name: str
    weight: int

    def __post_init__(self) -> None:
        check_length(self.name, 1, _MAX_NAME, "name of an arm")
        if not _NAME.fullmatch(self.name):
            raise InvalidValue(f"name of an arm must be letters of ASCII, digits and hyphens, got {self.name!r}", self)
        check_range(self.weight, 1, WHOLE_ARM_WEIGHT, f"weight of arm {self.name!r}")


def check_arms(arms: tuple[Arm, ...]) -> None:
    """Raise InvalidValue unless there are none, or 2 to 16 whose names differ and whose weights sum to 2^16."""
    check_range(len(arms), 0, MAX_ARMS, "number of arms")
    if not arms:
        return
    if len(arms) == 1:
        raise InvalidValue("one arm compares nothing: name two or more, or none", arms)
    check_distinct([arm.name.lower() for arm in arms], "names of arms, without regard to case,")
    if sum(arm.weight for arm in arms) != WHOLE_ARM_WEIGHT:
        raise InvalidValue(f"the weights of the arms sum to 2^16, not {sum(arm.weight for arm in arms)}", arms)


def check_arm_index(arm: int) -> None:
    """Raise InvalidValue unless `arm` may be the index of an arm."""
    check_range(arm, 0, MAX_ARMS - 1, "arm")
