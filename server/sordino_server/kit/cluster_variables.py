"""Variables that Kubernetes sets in every container for a Service named `sordino`, or `sordino-…`, of its namespace.

They begin as our settings do and are none: SORDINO_SERVICE_HOST, SORDINO_PORT=tcp://10.0.0.1:8000,
SORDINO_PORT_8000_TCP_ADDR. `enableServiceLinks: false` in the pod's specification leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = re.compile(
    r"SORDINO_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)", re.ASCII
)
_NAME_OF_A_LINK = re.compile(r"SORDINO_(\w+_)?PORT", re.ASCII)
_LINK = re.compile(r"(tcp|udp|sctp)://")


def injected_variables(environment: Mapping[str, str]) -> frozenset[str]:
    """Names of such variables; `SORDINO_PORT` only where its value is the address of a Service."""
    return frozenset(
        name
        for name, value in environment.items()
        if _NAMES.fullmatch(name) or (_NAME_OF_A_LINK.fullmatch(name) and _LINK.match(value))
    )
