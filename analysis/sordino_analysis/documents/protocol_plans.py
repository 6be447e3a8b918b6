"""The plans of protocols, of any kind: what a campaign of several rounds follows."""

from __future__ import annotations

import json

from sordino_analysis.documents.elimination_plan import PROTOCOL, EliminationPlan
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest

AnyProtocolPlan = ProtocolPlan | EliminationPlan


def read_protocol_plan(content: bytes, digest: Digest | None = None) -> AnyProtocolPlan:
    """The plan that `content` encodes; with `digest`, only if it names exactly these bytes.

    Raises InvalidValue for any other bytes.
    """
    if digest is not None:
        digest.check(content)
    try:
        plain = json.loads(content)
        if plain.pop("protocol") != PROTOCOL:
            return ProtocolPlan.read(content)
        plan = EliminationPlan(**(plain | {"weights": tuple(plain["weights"])}))
        plan.round_guarantees()
        if plan.content != content or plan.shares.weights != plan.weights:
            raise ValueError("another plan")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidValue("not the plan of a protocol", content) from error
    return plan
