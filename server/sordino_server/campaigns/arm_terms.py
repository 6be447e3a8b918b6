"""Arms of an experiment as an order has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from sordino_analysis.strict_model import StrictModel
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm


class ArmTerms(StrictModel):
    """One version of the app: a device draws it with probability weight/65536 and keeps it."""

    name: str = Field(description="1 to 24 letters, digits and hyphens; no attribute has the name.")
    weight: Annotated[int, Field(strict=True, description="1 to 65536; the weights sum to 65536.")]


def arms_of(named: Sequence[ArmTerms], kind: str) -> tuple[Arm, ...]:
    """The arms in their order; raises InvalidValue for some that no device may draw, and where nothing compares them.

    `kind` is that of the question.
    """
    if named and kind != "linear":
        raise InvalidValue(f"/arms: arms are compared by linear queries; this plan's question is {kind}", kind)
    return tuple(Arm(each.name, each.weight) for each in named)
