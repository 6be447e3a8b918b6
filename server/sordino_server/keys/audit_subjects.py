"""What an entry of the audit log is about, by its path: a kind and an id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum


class SubjectKind(StrEnum):
    """What was changed: what the API calls it, a session of the console, or a setting of the server."""

    CAMPAIGN = "campaign"
    POPULATION = "population"
    PLAN = "plan"
    WORKLOAD = "workload"
    DATASET = "dataset"
    RELEASE = "release"
    KEY = "key"
    SESSION = "session"
    SETTING = "setting"


# Of paths below /v1; a session has /console, a setting its own name.
PARTS: Mapping[str, SubjectKind] = {
    "campaigns": SubjectKind.CAMPAIGN,
    "populations": SubjectKind.POPULATION,
    "plan-requests": SubjectKind.PLAN,
    "workloads": SubjectKind.WORKLOAD,
    "datasets": SubjectKind.DATASET,
    "releases": SubjectKind.RELEASE,
    "keys": SubjectKind.KEY,
}
SESSIONS, SETTINGS = "/console", "SORDINO_"
# Who reads results may read who changed what they are made of. Keys, settings, and sign-ins with their addresses are
# an admin's.
READABLE = frozenset(SubjectKind) - {SubjectKind.KEY, SubjectKind.SESSION, SubjectKind.SETTING}
_PATH = re.compile(f"/v1/({'|'.join(PARTS)})(?:/([^/]+))?(?:/.*)?")
# A kind and an id.
SubjectKey = tuple[SubjectKind, str | None]


def subject_of(path: str) -> SubjectKey | None:
    """What the path of an entry names; None for one of a version that named something else."""
    if path == SESSIONS:
        return SubjectKind.SESSION, None
    if path.startswith(SETTINGS):
        return SubjectKind.SETTING, path
    found = _PATH.fullmatch(path)
    return None if found is None else (PARTS[found[1]], found[2])
